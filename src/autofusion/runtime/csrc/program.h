/* Instructions of a program, taken out of their words. */
#ifndef AF_PROGRAM_H
#define AF_PROGRAM_H

#include <string.h>

#include "call.h"

typedef struct af_instruction {
    int operation, a, b, c;
    uint32_t bits; /* of `number` */
    float number;
} af_instruction;

static inline af_instruction read_instruction(int64_t word) {
    af_instruction read = {(int)(word & 255), (int)(word >> 8 & 255), (int)(word >> 16 & 255), (int)(word >> 24 & 255),
                           (uint32_t)((uint64_t)word >> 32), 0};
    memcpy(&read.number, &read.bits, sizeof read.bits);
    return read;
}

/* The number of an instruction of a program on doubles. */
static inline double read_double(const af_program *program, const af_instruction *instruction) {
    double number;
    memcpy(&number, &program->code[program->length + instruction->bits], sizeof number);
    return number;
}

/* Whether a function takes a second number. */
static inline int takes_two_numbers(int function) { return function == AF_CLIP || function == AF_HARD_SIGMOID; }

/* Bytes of scratch memory that one share needs: a block for each register. */
static inline int64_t af_program_scratch(const af_program *program) {
    return (program->operands + program->length) * AF_PROGRAM_BLOCK * (int64_t)sizeof(float);
}

#endif
