/* Fields of the steps that run a program of elementwise instructions; part of record.h. */
#ifndef AF_RECORD_PROGRAM_H
#define AF_RECORD_PROGRAM_H

#include <stdint.h>

enum { AF_PROGRAM_AXES = 4, AF_PROGRAM_OPERANDS = 10, AF_PROGRAM_LENGTH = 40, AF_PROGRAM_BLOCK = 256 };

/* Operations of instructions: an af_function of a, an af_operator or af_truth of a and b, and two more. */
enum { AF_COMBINING = 64, AF_CHOOSING = 128, AF_CONSTANT };

enum af_folding { AF_FOLD_NONE, AF_FOLD_SUM, AF_FOLD_MEAN, AF_FOLD_MAX, AF_FOLD_MIN, AF_FOLDING_COUNT };

/* Registers are the operands, then one for each instruction.  An instruction has, from its low byte up, the operation
   and registers a, b and c, and in its upper half the bits of a float: a constant, or the first number of a function.
   The second one is that of the constant that b names.  A program on doubles has there the place of a number among the
   words behind its instructions, which are the bits of doubles.  Bit i of `truths` says that operand i has truth values.
   The last register is the result, under `folding` over the last axis. */
typedef struct af_program {
    int64_t extents[AF_PROGRAM_AXES], y_strides[AF_PROGRAM_AXES], strides[AF_PROGRAM_OPERANDS][AF_PROGRAM_AXES];
    int64_t operands, truths, length, folding, code[AF_PROGRAM_LENGTH];
} af_program;

#endif
