// Template: a value of a definition file with `{{ expression }}` in its texts. A text that is one expression
// gives its value with its type; any other text gives a text. A value is never read as a template.
import type { JsonObject, JsonValue } from '@beaver/core'
import { isRecord } from '../arguments/json-text.ts'
import { quote } from '../arguments/wording.ts'
import { ExpressionFault } from './cost.ts'
import { compileExpression, type Expression, type Scope } from './expression.ts'
import { textOf } from './text.ts'

export const renderedCharsMax = 4 * 1024 * 1024

type Part = string | Expression

export interface Place {
  /** Whether it is in the body of a map, where `item` and `index` exist. */
  readonly inMap: boolean
}

/**
 * The value of a template.
 *
 * @throws {ExpressionFault} that names the expression
 */
export function renderValue(template: JsonValue, scope: Scope): JsonValue {
  const place = { inMap: scope.item !== undefined }
  if (typeof template === 'string') {
    const parts = partsOf(template, place)
    const [only] = parts
    return parts.length === 1 && only !== undefined && typeof only !== 'string'
      ? evaluated(only, scope)
      : joinedText(parts, scope)
  }
  if (Array.isArray(template))
    return (template as readonly JsonValue[]).map((each) => renderValue(each, scope))
  if (!isRecord(template)) return template
  return Object.fromEntries(
    Object.entries(template as JsonObject).map(([key, each]) => [key, renderValue(each, scope)]),
  )
}

/**
 * The text of a template in its parts: a `value` came from other nodes. A template that is one expression is
 * one part, because its author gave it the place of the whole text. Numbers and truth values are parts of the
 * text.
 *
 * @param foreign whether the inputs of the scope came from other nodes, too
 * @throws {ExpressionFault} that names the expression
 */
export function renderParts(
  template: string,
  scope: Scope,
  foreign: boolean,
): (string | { value: string })[] {
  const parts = partsOf(template, { inMap: scope.item !== undefined })
  if (parts.length === 1) return [joinedText(parts, scope)]
  const rendered: (string | { value: string })[] = []
  let chars = 0
  for (const part of parts) {
    const value = typeof part === 'string' ? part : evaluated(part, scope)
    const text = textOf(value)
    const isFramed =
      typeof part !== 'string' && (foreign || scope.item !== undefined || part.references.nodes.size > 0)
    const last = rendered.at(-1)
    if (isFramed && (typeof value === 'string' || (typeof value === 'object' && value !== null)))
      rendered.push({ value: text })
    else if (typeof last === 'string') rendered[rendered.length - 1] = last + text
    else rendered.push(text)
    chars += text.length
    if (chars > renderedCharsMax) throw tooLong()
  }
  return rendered
}

const tooLong = (): ExpressionFault =>
  new ExpressionFault(`the text would be longer than ${renderedCharsMax} characters`)

/**
 * The value of a text that is one expression.
 *
 * @throws {ExpressionFault}
 */
export const evaluateText = (text: string, scope: Scope): JsonValue =>
  evaluated(onlyExpression(text, { inMap: scope.item !== undefined }), scope)

/**
 * The expression of a text that contains nothing else.
 *
 * @throws {ExpressionFault}
 */
export function onlyExpression(text: string, place: Place): Expression {
  const parts = partsOf(text, place)
  const [only] = parts
  if (parts.length === 1 && only !== undefined && typeof only !== 'string') return only
  throw new ExpressionFault(`${quote(text)} is not one expression: write "{{ … }}" and nothing around it`)
}

/**
 * Every expression in a template.
 *
 * @throws {ExpressionFault} for the first one that cannot be used
 */
export function expressionsOf(template: JsonValue, place: Place): Expression[] {
  if (typeof template === 'string') return partsOf(template, place).filter((part) => typeof part !== 'string')
  if (Array.isArray(template))
    return (template as readonly JsonValue[]).flatMap((each) => expressionsOf(each, place))
  return isRecord(template)
    ? Object.values(template as JsonObject).flatMap((each) => expressionsOf(each, place))
    : []
}

function joinedText(parts: readonly Part[], scope: Scope): string {
  let text = ''
  for (const part of parts) {
    text += typeof part === 'string' ? part : textOf(evaluated(part, scope))
    if (text.length > renderedCharsMax) throw tooLong()
  }
  return text
}

function evaluated(expression: Expression, scope: Scope): JsonValue {
  try {
    return expression.evaluate(scope)
  } catch (error) {
    throw named(expression.source, error)
  }
}

const named = (source: string, error: unknown): ExpressionFault =>
  new ExpressionFault(`{{ ${source.trim()} }}: ${(error as Error).message}`)

/**
 * The texts and expressions of a template, in order. White space around a single expression does not count.
 */
function partsOf(template: string, place: Place): Part[] {
  const parts: Part[] = []
  let at = 0
  for (let open = template.indexOf('{{'); open !== -1; open = template.indexOf('{{', at)) {
    const close = closingOf(template, open + 2)
    if (close === -1)
      throw new ExpressionFault(
        `${quote(template.slice(open), 60)} has no closing "}}" (for two braces as text, write {{ "{{" }})`,
      )
    if (open > at) parts.push(template.slice(at, open))
    const source = template.slice(open + 2, close)
    try {
      parts.push(compileExpression(source, place))
    } catch (error) {
      throw named(source, error)
    }
    at = close + 2
  }
  if (at < template.length) parts.push(template.slice(at))
  const expressions = parts.filter((part) => typeof part !== 'string')
  const [only] = expressions
  return only !== undefined &&
    expressions.length === 1 &&
    parts.every((part) => typeof part !== 'string' || part.trim() === '')
    ? [only]
    : parts
}

/** The position of the `}}` of an expression, outside its texts and braces. -1 if there is none. */
function closingOf(template: string, from: number): number {
  let depth = 0
  let quoteMark: string | null = null
  for (let at = from; at < template.length; at++) {
    const char = template[at]
    if (quoteMark !== null) {
      if (char === '\\') at++
      else if (char === quoteMark) quoteMark = null
    } else if (char === '"' || char === "'") quoteMark = char
    else if (char === '{') depth++
    else if (char === '}') {
      if (depth === 0 && template[at + 1] === '}') return at
      depth--
    }
  }
  return -1
}
