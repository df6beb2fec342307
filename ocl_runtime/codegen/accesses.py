"""What comes from elsewhere, as OpenCL C expressions: elements of memory, and values of other work-items."""

from __future__ import annotations

from ocl_ir.kernel.alignment import is_aligned
from ocl_ir.kernel.asynchronous import ROW_BYTES, Swizzled
from ocl_ir.kernel.grammar import (
    AsyncStmt,
    Await,
    AwaitBoxes,
    Commit,
    Const,
    CopyAsync,
    CopyBox,
    CopyWindows,
    DescribeMatrix,
    DescribeWindows,
    InitBoxes,
    Load,
    MatrixMultiply,
    Operand,
    ReleaseBoxes,
    Shuffle,
    Store,
    Turn,
    Value,
    WarpgroupMultiply,
)
from ocl_ir.kernel.locals import Locals
from ocl_ir.types import BOOL, F32, F64, TF32, U16, U32, DType, Pointer, Vector, element, lanes
from ocl_runtime.codegen.helpers import Made, Number, WarpgroupTypes
from ocl_runtime.codegen.precedence import BINARY, Text
from ocl_runtime.codegen.spelling import Dialect, memory_type, value_type


class Accesses:
    """Makes the texts of one kernel's accesses and exchanges, and remembers which helper functions they call."""

    def __init__(self, locals_: Locals, dialect: Dialect) -> None:
        self._locals = locals_
        self._dialect = dialect
        self.helpers: dict[tuple[str, Made], None] = {}
        self.macros: set[str] = set()

    def operand(self, operand: Operand, *, bare: bool = False) -> Text:
        """An operand as a text; `ocl_runtime.codegen.expressions` has it."""
        raise NotImplementedError

    def name(self, id_: int) -> str:
        """The C name of a value or variable."""
        slot = self._locals.slots.get(id_)
        return slot.name if slot is not None else self._locals.names[id_]

    # ------------------------------------------------------------------ memory

    def load(self, load: Load) -> Text:
        """What a load reads."""
        pointer, type_ = load.pointer.type, load.result.type
        assert isinstance(pointer, Pointer)
        assert not isinstance(type_, Pointer)
        count, name = lanes(type_), self.name(load.pointer.id)
        if element(type_) == U16 and pointer.dtype.is_float:
            return self._bits(load, count)
        if pointer.dtype.name == "f16" and element(type_).name == "f32":
            return self._half(load, name, count)
        if count == 1:
            loaded = Text(f"{name}[{self.operand(load.index, bare=True).text}]")
        elif macro := self.aligned_macro("LOAD", load, count):
            loaded = Text(f"{macro}({memory_type(pointer.dtype, count)}, {self.address(load.pointer, load.index)})")
        else:
            loaded = Text(f"vload{self.parts(pointer.dtype, count)}(0, {self.address_of_parts(load)})")
        if pointer.dtype.name == "bf16":
            wide = f"(uint){loaded.text}" if count == 1 else f"convert_uint{count}({loaded.text})"
            return Text(f"as_float{'' if count == 1 else count}({wide} << 16)")
        if pointer.dtype.kind == "bool" and count > 1:
            return Text(f"{loaded.text} != (uchar{count})(0)", BINARY["!="], 8)
        return loaded

    def _bits(self, load: Load, count: int) -> Text:
        """The bits of halves or bfloat16, which begin at a multiple of all of them, as the scalars do by themselves."""
        assert isinstance(load.pointer.type, Pointer)
        assert count == 1 or is_aligned(load)
        macro = "LOAD" if load.pointer.type.space == "global" else "LOAD_LOCAL"
        self.macros.add(macro)
        return Text(f"{macro}({memory_type(U16, count)}, {self.address(load.pointer, load.index)})")

    def _half(self, load: Load, name: str, count: int) -> Text:
        if count == 1:
            return Text(f"vload_half({self.operand(load.index, bare=True).text}, {name})")
        address = self.address(load.pointer, load.index)
        if self.halves_by_bits(load, count):
            self.helpers["half_values", Vector(F32, count)] = None
            bits = self.aligned_macro("LOAD", load, count)
            if bits:
                self.macros.add(bits)
                return Text(f"half_values_{count}({bits}({memory_type(U16, count)}, {address}))")
            return Text(f"half_values_{count}({self.half_bits_at(load.pointer, address, count, ' const')})")
        return Text(f"vload_half{count}(0, {address})")

    def halves_by_bits(self, access: Load | Store, count: int) -> bool:
        """Whether a vector of halves is moved as integers. (PoCL's functions for 3 lanes are right.)"""
        asked = self._dialect.scalar_halves if is_aligned(access) else self._dialect.aligned_halves
        return asked and count != 3

    @staticmethod
    def aligned_macro(name: str, access: Load | Store, count: int) -> str:
        """The macro that moves a vector to or from memory that is aligned to it; none for all others."""
        assert isinstance(access.pointer.type, Pointer)
        space = access.pointer.type.space
        if count == 1 or space not in {"global", "local"} or not is_aligned(access):
            return ""
        return name if space == "global" else f"{name}_LOCAL"

    def half_bits_at(self, pointer: Value, address: str, count: int, constant: str = "") -> str:
        """The bits of halves in memory, which may start at any half."""
        assert isinstance(pointer.type, Pointer)
        self.helpers["any_half", Vector(F32, count)] = None
        return f"*(__{pointer.type.space}{constant} any_half_{count} *)({address})"

    def address(self, pointer: Value, index: Operand) -> str:
        """`pointer + index`."""
        name = self.name(pointer.id)
        if isinstance(index, Const) and index.value == 0:
            return name
        return f"{name} + {self.operand(index, bare=True).within(BINARY['+'] + 1)}"

    @staticmethod
    def parts(dtype: DType, count: int) -> int:
        """Lanes of the vector in OpenCL C that has so many elements."""
        return 2 * count if dtype.is_complex else count

    def address_of_parts(self, access: Load | Store) -> str:
        """Where the lanes of a vector in OpenCL C are: complex numbers are parts there."""
        address, pointer = self.address(access.pointer, access.index), access.pointer.type
        assert isinstance(pointer, Pointer)
        if not pointer.dtype.is_complex:
            return address
        constant = " const" if isinstance(access, Load) else ""
        return f"(__{pointer.space}{constant} {memory_type(pointer.dtype.component)} *)({address})"

    # ------------------------------------------------------------------ other work-items

    def shuffle(self, shuffle: Shuffle) -> Text:
        """The value of another work-item of the sub-group."""
        type_ = shuffle.result.type
        subgroups = self._dialect.subgroups
        assert subgroups is not None, "passes/shuffles.py was not told of the target"
        value, lane = (self.operand(operand).text for operand in (shuffle.value, shuffle.lane))
        if subgroups.spelling == "ptx":
            self.helpers["warp_shuffle", type_] = None
            return Text(f"warp_shuffle_{value_type(type_)}({value}, {lane})")
        if type_ == BOOL:
            return Text(f"sub_group_shuffle((uchar)({value}), {lane}) != 0", BINARY["!="])
        return Text(f"sub_group_shuffle({value}, {lane})")

    def matrix_multiply(self, stmt: MatrixMultiply) -> Text:
        """The sums of a matrix instruction."""
        left, right, sums = (self.operand(operand).text for operand in (stmt.left, stmt.right, stmt.sum))
        self.helpers[stmt.instruction.name, element(stmt.sum.type)] = None
        return Text(f"{stmt.instruction}({left}, {right}, {sums})")

    # ------------------------------------------------------------------ asynchronous statements

    def asynchronous(self, stmt: AsyncStmt) -> list[str]:
        """The calls that a statement is."""
        match stmt:
            case CopyAsync():
                self.helpers["copy_async", U32] = None
                local, source = self.address(stmt.pointer, stmt.index), self.address(stmt.source, stmt.source_index)
                return [f"copy_async({local}, {source}, {self.operand(stmt.inside).text})"]
            case Commit():
                self.helpers["commit_copies", U32] = None
                return ["commit_copies()"]
            case Await():
                self.helpers[f"await_{stmt.what}", Number(stmt.pending)] = None
                return [f"await_{stmt.what}_{stmt.pending}()"]
            case DescribeMatrix():
                name = {TF32: "describe_tf32", F64: "describe_f64"}.get(stmt.dtype, "describe_matrix")
                self.helpers[name, U32] = None
                table, source = self.address(stmt.table, stmt.slot), self.address(stmt.source, stmt.source_index)
                numbers = [self.operand(number).text for number in (stmt.word, stmt.columns, stmt.rows, stmt.row_words)]
                return [f"{name}({', '.join([table, source, *numbers, str(stmt.box_rows)])})"]
            case DescribeWindows():
                name = {TF32: "describe_windows_tf32", F64: "describe_windows_f64"}.get(stmt.dtype, "describe_windows")
                self.helpers[name, U32] = None
                table, source = self.address(stmt.table, stmt.slot), self.address(stmt.source, stmt.source_index)
                sizes = stmt.columns, *stmt.lengths, *stmt.strides, *stmt.steps, *stmt.before, *stmt.counts
                numbers = [self.operand(number).text for number in (stmt.word, *sizes)]
                return [f"{name}({', '.join([table, source, *numbers, str(stmt.box_rows)])})"]
            case InitBoxes():
                self.helpers["init_boxes", U32] = None
                return [f"init_boxes({self.name(stmt.barriers.id)}, {stmt.count}, {stmt.boxes})"]
            case CopyBox():
                self.helpers["copy_box", U32] = None
                local, table = self.address(stmt.pointer, stmt.index), self.address(stmt.table, stmt.slot)
                places = [self.operand(place).text for place in (stmt.column, stmt.row)]
                barrier = self.address(stmt.barriers, stmt.number)
                return [f"copy_box({', '.join([local, table, *places, str(ROW_BYTES * stmt.rows), barrier])})"]
            case CopyWindows():
                self.helpers["copy_windows", U32] = None
                local, table = self.address(stmt.pointer, stmt.index), self.address(stmt.table, stmt.slot)
                places = [self.operand(place).text for place in (stmt.column, *stmt.place, *stmt.taps)]
                barrier = self.address(stmt.barriers, stmt.number)
                return [f"copy_windows({', '.join([local, table, *places, str(ROW_BYTES * stmt.rows), barrier])})"]
            case AwaitBoxes():
                self.helpers["await_boxes", U32] = None
                return [f"await_boxes({self.address(stmt.barriers, stmt.number)}, {self.operand(stmt.parity).text})"]
            case ReleaseBoxes():
                self.helpers["release_boxes", U32] = None
                return [f"release_boxes({self.address(stmt.barriers, stmt.number)})"]
            case Turn():
                self.helpers[f"{stmt.what}_turn", Number(stmt.warpgroups)] = None
                return [f"{stmt.what}_turn_{stmt.warpgroups}()"]
            case WarpgroupMultiply():
                return self._products(stmt)

    def registers(self, counts: tuple[int, int]) -> list[str]:
        """The calls by which the sides of a branch share the registers that the group had."""
        calls = []
        for count in counts:
            name = "take_registers" if count == max(counts) else "leave_registers"
            self.helpers[name, Number(count)] = None
            calls.append(f"{name}_{count}()")
        return calls

    def _products(self, stmt: WarpgroupMultiply) -> list[str]:
        left_turned = None if stmt.left_lies is None else stmt.left_lies.turned
        for name in ("begin_products", "matrix_at", "end_products"):
            self.helpers[name, U32] = None
        calls = ["begin_products()"]
        for step in range(stmt.steps):
            starts = stmt.starts and step == 0
            types = WarpgroupTypes(stmt.dtype, stmt.columns, left_turned, stmt.right_lies.turned, starts)
            self.helpers["warpgroup_multiply", types] = None
            if stmt.left_lies is None:
                left = self.address(stmt.left, stmt.left_index) + (f" + {4 * step}" if step else "")
            else:
                left = self._matrix_at(stmt.left, stmt.left_index, stmt.left_lies, stmt.first + step)
            right = self._matrix_at(stmt.right, stmt.right_index, stmt.right_lies, stmt.first + step)
            calls.append(f"{types.name}({self.name(stmt.sums.id)}, {left}, {right})")
        return [*calls, "end_products()"]

    def _matrix_at(self, local: Value, index: Operand, lies: Swizzled, step: int) -> str:
        begin = self.operand(index).within(BINARY["+"])
        begin += f" + {lies.step(step) // 4}" if step else ""
        return f"matrix_at({self.name(local.id)}, {begin}, {lies.block})"
