// Limits what an expression may cost, and prepares the values that it works on. A cost is counted, not timed,
// so an expression passes or fails everywhere alike. A value weighs as much as its full text, however often
// its parts are shared. No value gives access to a prototype.
import type { JsonValue } from '@beaver/core'
import { compilePattern } from '@beaver/core/evidence'
import { quote } from '../arguments/wording.ts'
import { textOf } from './text.ts'

/** What is wrong with an expression, or with its values: a sentence that follows the expression's name. */
export class ExpressionFault extends Error {}

/** In steps: a value, or 32 characters of a text. */
export const stepsMax = 1_000_000
const weightMax = 200_000
const depthMax = 200

// One object for all uses, because it may be thrown once for every item of a list.
const exhausted = new ExpressionFault(`it takes more than ${stepsMax} steps. Work on less`)
const tooLarge = new ExpressionFault(`it makes a value that is larger than ${weightMax} steps. Work on less`)

/**
 * What an evaluation may still spend. The functions of an environment charge it, so an environment has one. An
 * evaluation is synchronous and does not nest.
 */
export class Budget {
  #left = 0

  /** Evaluates with a fresh budget. */
  charged<T>(evaluate: () => T): T {
    this.#left = stepsMax
    try {
      return evaluate()
    } catch (error) {
      // Some errors are kept back and thrown last.
      throw this.#left < 0 ? exhausted : error
    }
  }

  charge(steps: number): void {
    this.#left -= steps
    if (!(this.#left >= 0)) {
      this.#left = -1
      throw exhausted
    }
  }

  pay<T>(value: T): T {
    this.charge(weigh(value, 0))
    return value
  }

  fromCel(value: unknown): JsonValue {
    return json(this.pay(value))
  }
}

const weights = new WeakMap<object, number>()

function weigh(value: unknown, depth: number): number {
  if (typeof value === 'string') return bounded(1 + (value.length >> 5))
  if (typeof value !== 'object' || value === null) return 1
  const known = weights.get(value)
  if (known !== undefined) return known
  if (depth > depthMax)
    throw new ExpressionFault(`it makes a value that is nested deeper than ${depthMax} levels`)
  let sum = 1
  for (const part of partsOf(value)) sum = bounded(sum + weigh(part, depth + 1))
  // A list grows while a macro builds it, and no expression can see it before it is complete.
  weights.set(value, sum)
  return sum
}

function bounded(weight: number): number {
  if (weight > weightMax) throw tooLarge
  return weight
}

function partsOf(value: object): Iterable<unknown> {
  if (Array.isArray(value)) return value as unknown[]
  if (value instanceof Map)
    return [...(value as Map<unknown, unknown>)].flatMap(([key, member]) => [key, member])
  return isPlain(value) ? Object.entries(value as Record<string, unknown>).flat() : []
}

/** Turns objects into maps with sorted keys, because values from the journal come back with sorted keys. */
export function toCel(value: JsonValue, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > depthMax)
    throw new ExpressionFault(`it reads a value that is nested deeper than ${depthMax} levels`)
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((each) => toCel(each, depth + 1))
  const entries = Object.entries(value)
  return new Map(
    entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, member]) => [key, toCel(member, depth + 1)]),
  )
}

function json(value: unknown): JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'bigint':
      if (!Number.isSafeInteger(Number(value)))
        throw new ExpressionFault(`it gives ${value}, a number that JSON cannot say exactly`)
      return Number(value)
    case 'number':
      if (!Number.isFinite(value)) throw new ExpressionFault('it gives a number that is not finite')
      // JSON has one zero.
      return value === 0 ? 0 : value
    default:
  }
  if (value === null) return null
  if (Array.isArray(value)) return value.map(json)
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([key, member]) => [String(key), json(member)]))
  if (typeof value === 'object' && isPlain(value))
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, json(member)]))
  throw new ExpressionFault('it gives something that is not JSON')
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/** What a search in a text costs in the worst case. */
function search(
  budget: Budget,
  { text, wanted, name }: { text: unknown; wanted: unknown; name: string },
): { text: string; wanted: string } {
  if (typeof text !== 'string') throw new ExpressionFault(`${name}: ${described(text)} is not a text`)
  if (typeof wanted !== 'string') throw new ExpressionFault(`${name}: ${described(wanted)} is not a text`)
  budget.charge(1 + Math.ceil((text.length * wanted.length) / 1_000))
  return { text, wanted }
}

const described = (value: unknown): string =>
  typeof value === 'bigint' ? String(value) : value instanceof Map ? 'an object' : quote(value, 40)

function joined(budget: Budget, list: unknown, separator: unknown): string {
  if (!Array.isArray(list)) throw new ExpressionFault(`join: ${described(list)} is not a list`)
  if (typeof separator !== 'string') throw new ExpressionFault(`join: ${described(separator)} is not a text`)
  budget.charge(1 + Math.ceil((list.length * separator.length) / 32))
  return list.map((each) => textOf(json(each))).join(separator)
}

function matched(budget: Budget, text: unknown, pattern: unknown): boolean {
  const searched = search(budget, { text, wanted: pattern, name: 'matches' })
  budget.charge(searched.text.length)
  return patternOf(pattern).test(searched.text)
}

const patternCharsMax = 500

/** The pattern of a `matches`. @throws {ExpressionFault} */
export function patternOf(value: unknown): { readonly test: (text: string) => boolean } {
  if (typeof value !== 'string') throw new ExpressionFault(`matches: ${described(value)} is not a text`)
  if (value.length > patternCharsMax)
    throw new ExpressionFault(
      `matches: the pattern has ${value.length} characters; the limit is ${patternCharsMax}`,
    )
  const compiled = compilePattern(value)
  if ('fault' in compiled)
    throw new ExpressionFault(`matches: ${quote(value)} is not a pattern of RE2: ${compiled.fault}`)
  return compiled
}

/**
 * By signature: the functions that charge a budget. The rewriting inserts `pay` and `step`; the others replace
 * methods of the same name. `step` is a step of a macro with this many operations. Each may fail and be
 * skipped, which takes longer than a success.
 */
export const costlyFunctions = (budget: Budget): Readonly<Record<string, (...args: never[]) => unknown>> => ({
  'pay(dyn): dyn': (value: unknown) => budget.pay(value),
  'step(int): bool': (operations: bigint) => {
    budget.charge(10 * Number(operations))
    return true
  },
  'contains_(dyn, dyn): bool': (a: unknown, b: unknown) => {
    const { text, wanted } = search(budget, { text: a, wanted: b, name: 'contains' })
    return text.includes(wanted)
  },
  'indexOf_(dyn, dyn): int': (a: unknown, b: unknown) => {
    const { text, wanted } = search(budget, { text: a, wanted: b, name: 'indexOf' })
    return BigInt(text.indexOf(wanted))
  },
  'split_(dyn, dyn): list<string>': (a: unknown, b: unknown) => {
    const { text, wanted } = search(budget, { text: a, wanted: b, name: 'split' })
    return text.split(wanted)
  },
  'matches_(dyn, dyn): bool': (text: unknown, pattern: unknown) => matched(budget, text, pattern),
  'join_(dyn): string': (list: unknown) => joined(budget, list, ''),
  'join_(dyn, dyn): string': (list: unknown, separator: unknown) => joined(budget, list, separator),
})
