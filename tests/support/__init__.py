"""What tests of several folders have in common; the helpers of one folder alone stay there."""
