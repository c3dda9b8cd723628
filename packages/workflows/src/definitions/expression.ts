// Expression: one CEL expression of a definition file, which @marcbachmann/cel-js parses, checks and
// evaluates. This file decides which names and functions exist, and what an expression may cost
// (docs/decisions/0012-expressions-are-cel.md). It sees `inputs`, `nodes`, and in the body of a map `item`
// and `index`: no global, no prototype, no clock. It ends: a budget (cost.ts) is charged for every list that
// it walks and every value that it compares, joins or copies. A constant pattern of `matches` is compiled
// with its expression, and refused here if it can only fail.
import { type ASTNode, Environment } from '@marcbachmann/cel-js'
import { type JsonObject, type JsonValue, messageOf } from '@beaver/core'
import { quote, quoteAll } from '../arguments/wording.ts'
import { Budget, costlyFunctions, ExpressionFault, patternOf, toCel } from './cost.ts'

export type NodeField = 'output' | 'json' | 'skipped'

/** What an expression reads. */
export interface References {
  readonly inputs: ReadonlySet<string>
  readonly nodes: ReadonlyMap<string, ReadonlySet<NodeField>>
}

/** The values for its evaluation. */
export interface Scope {
  readonly inputs: JsonObject
  nodeField(nodeId: string, field: NodeField): JsonValue
  /** Set in the body of a map. */
  readonly item?: { readonly value: JsonValue; readonly index: number }
}

export interface Expression {
  readonly source: string
  readonly references: References
  /** `dyn` if the type is known only after the evaluation. */
  readonly type: string
  /** @throws {ExpressionFault} that tells the author of the file what is wrong */
  evaluate(scope: Scope): JsonValue
}

export const expressionCharsMax = 2_000
const shapeLimits = {
  maxAstNodes: 500,
  maxDepth: 50,
  maxListElements: 200,
  maxMapEntries: 200,
  maxCallArguments: 8,
}

/** @throws {ExpressionFault} if it cannot be used, whatever its values are */
export function compileExpression(source: string, place: { readonly inMap: boolean }): Expression {
  const key = `${place.inMap ? 'map' : 'node'} ${source}`
  const known = compiled.get(key)
  if (known !== undefined) return known
  const expression = compile(source, place.inMap)
  // This is a bound, not a policy: dropped expressions are parsed again.
  if (compiled.size >= 1_000) compiled.clear()
  compiled.set(key, expression)
  return expression
}

const compiled = new Map<string, Expression>()

function compile(source: string, inMap: boolean): Expression {
  if (source.trim() === '') throw new ExpressionFault('it is empty')
  if (source.length > expressionCharsMax)
    throw new ExpressionFault(`it has ${source.length} characters; the limit is ${expressionCharsMax}`)
  const { strict, open, budget } = environmentsOf(inMap)
  const { ast } = parse(strict, source)
  const rewriting = new Rewriting(source, inMap)
  // The types are those that the author sees. A charged value has any type.
  const checked = parse(open, rewriting.print(ast, { charged: false, bound: [] })).check()
  if (!checked.valid) throw new ExpressionFault(summaryOf(checked.error))
  const run = parse(open, rewriting.print(ast, { charged: true, bound: [] }))
  for (const pattern of rewriting.fixedPatterns) mustCompile(budget, () => parse(open, pattern)({}))
  const { inputs, nodes } = rewriting
  return {
    source,
    references: { inputs: new Set(inputs.keys()), nodes },
    type: checked.type ?? 'dyn',
    evaluate: (scope) => {
      try {
        return budget.charged(() => budget.fromCel(run(rewriting.context(scope))))
      } catch (error) {
        throw new ExpressionFault(`${summaryOf(error)}${rewriting.hint(scope)}`)
      }
    },
  }
}

function parse(env: Environment, source: string): ReturnType<Environment['parse']> {
  try {
    return env.parse(source)
  } catch (error) {
    throw new ExpressionFault(summaryOf(error))
  }
}

/** @param pattern gives the value of a pattern that reads nothing */
function mustCompile(budget: Budget, pattern: () => unknown): void {
  try {
    budget.charged(() => patternOf(pattern()))
  } catch (error) {
    throw new ExpressionFault(summaryOf(error))
  }
}

/** `strict` for what authors write, `open` for the rewritten form. */
interface Environments {
  readonly strict: Environment
  readonly open: Environment
  /** What the functions of `open` charge. */
  readonly budget: Budget
}

const made: { outside: Environments | null; inMap: Environments | null } = { outside: null, inMap: null }

/** They are made with the first expression, because most daemons have none (docs/decisions/0029). */
function environmentsOf(inMap: boolean): Environments {
  if (inMap)
    return (made.inMap ??= makeEnvironments({ inputs: 'map', nodes: 'map', item: 'dyn', index: 'int' }))
  return (made.outside ??= makeEnvironments({ inputs: 'map', nodes: 'map' }))
}

function makeEnvironments(variables: Readonly<Record<string, string>>): Environments {
  const env = new Environment({ homogeneousAggregateLiterals: false })
  for (const [name, type] of Object.entries(variables)) env.registerVariable(name, type)
  // JSON has one kind of number, but CEL has no operators between its two kinds.
  for (const [op, compute] of Object.entries(arithmetic)) {
    env.registerOperator(`int ${op} double: double`, (a: bigint, b: number) => compute(Number(a), b))
    env.registerOperator(`double ${op} int: double`, (a: number, b: bigint) => compute(a, Number(b)))
  }
  const budget = new Budget()
  for (const [signature, handler] of Object.entries(costlyFunctions(budget)))
    env.registerFunction(signature, { handler, async: false })
  return { strict: env.clone({ limits: shapeLimits }), open: env, budget }
}

const arithmetic: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
}

const macros = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])
const methods = new Set(['size', 'startsWith', 'endsWith', 'lowerAscii', 'upperAscii', 'trim', 'substring'])
/** The library does not bound the cost of these, so functions of this package replace them. */
const bounded = new Set(['contains', 'matches', 'split', 'join', 'indexOf'])
const functions = new Set(['size', 'string', 'int', 'double', 'bool', 'dyn'])
const compared = new Set(['+', '==', '!=', '<', '<=', '>', '>=', 'in'])

interface Printing {
  readonly charged: boolean
  /** The variables of the enclosing macros. */
  readonly bound: readonly string[]
}

/**
 * Rewrites the author's expression into the one that is evaluated: the same, with its costs charged and its
 * references renamed.
 */
class Rewriting {
  readonly inputs = new Map<string, string>()
  readonly nodes = new Map<string, Set<NodeField>>()
  /** The patterns of `matches` that read no value, as they are evaluated. */
  readonly fixedPatterns = new Set<string>()
  readonly #names = new Map<string, string>()
  readonly #source: string
  readonly #inMap: boolean
  #printed = 0
  #reads = 0

  constructor(source: string, inMap: boolean) {
    this.#source = source
    this.#inMap = inMap
  }

  print(node: ASTNode, how: Printing): string {
    const print = (other: ASTNode): string => this.print(other, how)
    const pay = (other: ASTNode): string => this.#paid(other, how)
    this.#printed++
    switch (node.op) {
      case 'value':
        if (typeof node.args === 'object' && node.args !== null)
          throw new ExpressionFault('bytes and unsigned numbers are not for JSON: write a text or a number')
        return this.#source.slice(node.start, node.end)
      case 'id':
        return this.#name(node.args, how.bound)
      case '.':
        return this.#reference(node) ?? `${print(node.args[0])}.${node.args[1]}`
      case '[]':
        return this.#reference(node) ?? `${print(node.args[0])}[${print(node.args[1])}]`
      case 'list':
        return `[${node.args.map(print).join(', ')}]`
      case 'map':
        return `{${node.args.map(([key, value]) => `${print(key)}: ${print(value)}`).join(', ')}}`
      case '?:':
        return `(${print(node.args[0])} ? ${print(node.args[1])} : ${print(node.args[2])})`
      case '!_':
        return `(!${print(node.args)})`
      case '-_':
        return `(-${print(node.args)})`
      case 'call':
        return this.#call(node.args[0], node.args[1], how)
      case 'rcall':
        return this.#method(node.args, how)
      case '.?':
      case '[?]':
        throw new ExpressionFault(`${quote(node.op)} is not known here: write has(…) ? … : …`)
      default: {
        const [left, right] = node.args
        return compared.has(node.op)
          ? `(${pay(left)} ${node.op} ${pay(right)})`
          : `(${print(left)} ${node.op} ${print(right)})`
      }
    }
  }

  context(scope: Scope): Record<string, unknown> {
    const inputs = new Map(
      [...this.inputs].map(([input, name]) => [
        name,
        toCel(Object.hasOwn(scope.inputs, input) ? (scope.inputs[input] ?? null) : null),
      ]),
    )
    const fields = (node: string, wanted: ReadonlySet<NodeField>) =>
      new Map([...wanted].map((field) => [field, toCel(scope.nodeField(node, field))]))
    const nodes = new Map(
      [...this.nodes].map(([node, wanted]) => [this.#names.get(node), fields(node, wanted)]),
    )
    const { item } = scope
    return {
      inputs,
      nodes,
      ...(item === undefined ? {} : { item: toCel(item.value), index: BigInt(item.index) }),
    }
  }

  /** The most frequent reason for a failed evaluation. */
  hint(scope: Scope): string {
    const empty = [...this.nodes].find(
      ([node, wanted]) => wanted.has('json') && scope.nodeField(node, 'json') === null,
    )?.[0]
    if (empty === undefined) return ''
    return scope.nodeField(empty, 'skipped') === true
      ? `; ${quote(empty)} was skipped`
      : `; the output of ${quote(empty)} is not JSON`
  }

  #name(name: string, bound: readonly string[]): string {
    this.#reads++
    if (bound.includes(name)) return name
    if (name === 'inputs')
      throw new ExpressionFault('"inputs" is incomplete. Name the input, as in inputs.text or inputs["text"]')
    if (name === 'nodes')
      throw new ExpressionFault(
        '"nodes" is incomplete. Name the node and one of its fields, as in nodes.summary.output',
      )
    if ((name === 'item' || name === 'index') && this.#inMap) return name
    const known = ['inputs', 'nodes', ...(this.#inMap ? ['item', 'index'] : []), ...bound]
    throw new ExpressionFault(`${quote(name)} is not known; the names here are ${quoteAll(known)}`)
  }

  /** `inputs.x` or `nodes.x.output`. `null` if the node is neither. */
  #reference(node: ASTNode): string | null {
    const input = memberOf(node)
    if (input === null) return null
    if (isRoot(input.receiver, 'inputs')) {
      this.#reads++
      const name = this.inputs.get(input.name) ?? `i${this.inputs.size}`
      this.inputs.set(input.name, name)
      return `inputs.${name}`
    }
    const member = memberOf(input.receiver)
    if (isRoot(input.receiver, 'nodes'))
      throw new ExpressionFault(`nodes.${input.name} is incomplete. Add ${fieldsText}`)
    if (member === null || !isRoot(member.receiver, 'nodes')) return null
    if (!isField(input.name))
      throw new ExpressionFault(
        `a node has no ${quote(input.name)}: write nodes.${member.name} and ${fieldsText}`,
      )
    this.#reads++
    const wanted = this.nodes.get(member.name) ?? new Set()
    const name = this.#names.get(member.name) ?? `n${this.nodes.size}`
    this.nodes.set(member.name, wanted.add(input.name))
    this.#names.set(member.name, name)
    return `nodes.${name}.${input.name}`
  }

  #paid(node: ASTNode, how: Printing): string {
    return how.charged ? `pay(${this.print(node, how)})` : this.print(node, how)
  }

  /**
   * A step of a macro is charged before it is made, because a step that fails may be skipped and still costs.
   */
  #step(node: ASTNode, how: Printing): string {
    const before = this.#printed
    const text = this.print(node, how)
    return how.charged ? `(step(${this.#printed - before}) ? dyn(${text}) : dyn(null))` : text
  }

  #call(name: string, args: readonly ASTNode[], how: Printing): string {
    const [only] = args
    if (name === 'has' && only !== undefined) return `has(${this.print(only, how)})`
    if (!functions.has(name))
      throw new ExpressionFault(
        `the function ${quote(name)} is not known; there are ${quoteAll(['has', ...functions])}`,
      )
    return `${name}(${args.map((arg) => this.#paid(arg, how)).join(', ')})`
  }

  #method([name, receiver, args]: readonly [string, ASTNode, readonly ASTNode[]], how: Printing): string {
    const receiverText = this.#paid(receiver, how)
    const [variable, ...steps] = args
    if (macros.has(name) && variable?.op === 'id') {
      const { args: bound } = variable
      if (['inputs', 'nodes', 'item', 'index'].includes(bound))
        throw new ExpressionFault(
          `${quote(bound)} is already used. Give the variable of ${name} another name`,
        )
      const within = { ...how, bound: [...how.bound, bound] }
      return `${receiverText}.${name}(${[bound, ...steps.map((step) => this.#step(step, within))].join(', ')})`
    }
    if (bounded.has(name) && args.length > 1) throw new ExpressionFault(`${name} takes one argument`)
    const readsBefore = this.#reads
    const paid = args.map((arg) => this.#paid(arg, how))
    const [pattern] = paid
    if (name === 'matches' && how.charged && pattern !== undefined && this.#reads === readsBefore)
      this.fixedPatterns.add(pattern)
    if (bounded.has(name) && how.charged) return `${name}_(${[receiverText, ...paid].join(', ')})`
    if (bounded.has(name) || methods.has(name)) return `${receiverText}.${name}(${paid.join(', ')})`
    throw new ExpressionFault(
      `the function ${quote(name)} is not known; there are ${quoteAll([...macros, ...methods, ...bounded])}`,
    )
  }
}

const fieldsText = '.output (its text), .json (the value, when its text is JSON) or .skipped'
const isField = (name: string): name is NodeField =>
  name === 'output' || name === 'json' || name === 'skipped'
const isRoot = (node: ASTNode, name: string): node is ASTNode & { args: string } =>
  node.op === 'id' && node.args === name

function memberOf(node: ASTNode): { readonly receiver: ASTNode; readonly name: string } | null {
  if (node.op === '.') return { receiver: node.args[0], name: node.args[1] }
  if (node.op !== '[]') return null
  const [receiver, key] = node.args
  if (key.op === 'value' && typeof key.args === 'string') return { receiver, name: key.args }
  if (isRoot(receiver, 'inputs') || isRoot(receiver, 'nodes'))
    throw new ExpressionFault(
      `the name in ${receiver.args}[…] must be written out, as in ${receiver.args}["name"]`,
    )
  return null
}

function summaryOf(error: unknown): string {
  if (error instanceof ExpressionFault) return error.message
  return error instanceof Error && 'summary' in error && typeof error.summary === 'string'
    ? error.summary
    : messageOf(error)
}
