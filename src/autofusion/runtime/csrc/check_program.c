/* Validation of the steps that run a program. */
#include "check.h"
#include "data.h"
#include "program.h"

/* Instruction `number` is known and reads registers before its own alone. */
static int check_instruction(const checker *c, int number) {
    const af_program *p = &c->step->program;
    af_instruction i = read_instruction(p->code[number]);
    int known = (int)p->operands + number;
    int is_function = i.operation < (is_double(c) ? AF_TO_FLOAT16 : AF_FUNCTION_COUNT);
    int has_number = is_function || i.operation == AF_CONSTANT;
    if (is_double(c) && has_number && i.bits >= AF_PROGRAM_LENGTH - p->length)
        return refuse(c, "instruction %d has its number outside of the program", number);
    if (i.operation == AF_CONSTANT) return 0;
    int is_choice = i.operation == AF_CHOOSING;
    int is_combination = i.operation >= AF_COMBINING && i.operation < AF_COMBINING + AF_COMBINATION_COUNT;
    if (!is_function && !is_choice && !is_combination)
        return refuse(c, "instruction %d has operation %d, which is not known", number, i.operation);
    int needs_b = !is_function || takes_two_numbers(i.operation);
    if (i.a >= known || (needs_b && i.b >= known) || (is_choice && i.c >= known))
        return refuse(c, "instruction %d reads a register that has no value yet", number);
    if (!is_function || !needs_b) return 0;
    int is_constant = i.b >= p->operands && read_instruction(p->code[i.b - p->operands]).operation == AF_CONSTANT;
    return is_constant ? 0 : refuse(c, "instruction %d has no second number", number);
}

static int check_program_operand(const checker *c, int operand) {
    const af_program *p = &c->step->program;
    int64_t size = p->truths >> operand & 1 ? 1 : floating_size(c);
    return check_sized(c, AF_X + operand, span_axes(p->extents, p->strides[operand], AF_PROGRAM_AXES, 1), size);
}

int af_check_program(const checker *c) {
    const af_program *p = &c->step->program;
    if (!within(c->step->ints, (2 + AF_PROGRAM_OPERANDS) * AF_PROGRAM_AXES, 0, ELEMENT_LIMIT) ||
        !is_countable(p->extents, AF_PROGRAM_AXES))
        return refuse(c, "an extent is out of range");
    if (!within(&p->operands, 1, 1, AF_PROGRAM_OPERANDS) || !within(&p->length, 1, 1, AF_PROGRAM_LENGTH) ||
        !within(&p->truths, 1, 0, ((int64_t)1 << p->operands) - 1))
        return refuse(c, "it has %lld operands and %lld instructions", (long long)p->operands, (long long)p->length);
    if (check_code(c, "reduction", p->folding, AF_FOLDING_COUNT)) return -1;
    for (int number = 0; number < p->length; number++)
        if (check_instruction(c, number)) return -1;
    int axes = p->folding == AF_FOLD_NONE ? AF_PROGRAM_AXES : AF_PROGRAM_AXES - 1;
    if (repeats_places(p->extents, p->y_strides, axes)) return refuse(c, "its result is written more than once");
    int beside = 0;
    for (int operand = 0; operand < p->operands; operand++) {
        if (check_program_operand(c, operand)) return -1;
        if (p->folding == AF_FOLD_NONE)
            beside |= find_beside_axes(c, AF_X + operand, p->extents, p->strides[operand], p->y_strides, axes);
    }
    int64_t scratch = is_double(c) ? af_program_double_scratch(p) : af_program_scratch(p);
    return check_operand(c, AF_RESULT, span_axes(p->extents, p->y_strides, axes, 1)) ||
           check_absent(c, AF_X + (int)p->operands) || check_scratch(c, scratch) ||
           check_overlap_beside(c, 0, beside);
}
