// Advises how to write what a model wrote in a wrong form. It knows the shapes that models really produce,
// and builds the correct spelling from the model's own arguments.
import type { JsonObject } from '@beaver/core'
import { agentNameFault } from '../agent-name.ts'
import { isRecord, nearJson } from './json-text.ts'
import { itemsOf, propertiesOf } from './schema-place.ts'
import { example, quote } from './wording.ts'

/** How to write `value` if `expected` is required. `null` if the field's description is the best advice. */
export function spelling(expected: string, value: unknown, schema: JsonObject): string | null {
  if (typeof value === 'string') {
    const inside = jsonInside(expected, value)
    if (inside !== null) return inside
  }
  switch (expected) {
    case 'array':
      return ofArray(value, schema)
    case 'object':
      return isAgent(schema) ? ofAgent(value) : null
    case 'string':
      return ofText(value)
    case 'boolean':
      return typeof value === 'string' && /^\s*(?:true|false)\s*$/i.test(value)
        ? `Write ${value.trim().toLowerCase()} without quotes.`
        : null
    case 'int':
    case 'number':
      return typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value))
        ? `Write ${Number(value)} without quotes.`
        : null
    default:
      return null
  }
}

/** For JSON in a text, if its value is required. */
export function jsonInside(expected: string, text: string, subject = 'It is'): string | null {
  const near = nearJson(text)
  if (
    near === null ||
    (expected === 'array' ? !Array.isArray(near.value) : expected !== 'object' || !isRecord(near.value))
  )
    return null
  const faults = near.faults.length === 0 ? '' : `, with ${near.faults.join(' and ')}`
  return `${subject} JSON text inside a string${faults}: write the ${expected} itself, without quotes around it${example(near.value, ': ')}.`
}

function ofArray(value: unknown, schema: JsonObject): string | null {
  if (!isAgent(itemsOf(schema))) return ofList(value, itemsOf(schema))
  const members = agentsIn(value)
  return `Write an array with one object per agent: ${(members === null ? '' : example(members)) || '[{"name": "…", "instruction": "…"}]'}.`
}

function ofList(value: unknown, items: JsonObject): string | null {
  if (typeof value !== 'string')
    return isRecord(value) && items['type'] !== 'string'
      ? `Write an array, of one object too${example([value], ': ')}.`
      : null
  const names = value
    .split(/[,，、\n]/u)
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return `Write an array: ${quote(items['type'] === 'string' ? names : [value])}.`
}

function ofAgent(value: unknown): string | null {
  const [agent, ...others] = agentsIn(value) ?? []
  return agent === undefined || others.length > 0
    ? null
    : `Write an object: ${example(agent) || '{"name": "…", "instruction": "…"}'}.`
}

function ofText(value: unknown): string | null {
  if (typeof value === 'number' || typeof value === 'boolean') return `Write it in quotes: "${value}".`
  if (isRecord(value) && typeof value['name'] === 'string')
    return `Write one text in quotes: ${quote(value['name'])}.`
  if (Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string'))
    return `Write one text in quotes: ${quote(value.join(value.some((each: string) => each.includes(' ')) ? ' ' : ', '))}.`
  return value === null ? null : 'Write one text in quotes.'
}

interface Slot {
  readonly name: string
  readonly instruction: unknown
}

/** The agents that a value in a wrong form probably means. */
function agentsIn(value: unknown): Slot[] | null {
  if (typeof value === 'string') {
    const whole = slotOf(value)
    if (whole !== null) return [whole]
    const slots = value
      .split(/[,，、;；\n]|->|[→⇒]/u)
      .map((each) => each.trim())
      .map(slotOf)
    return slots.every((each) => each !== null) ? slots : null
  }
  if (Array.isArray(value)) {
    const [name, instruction] = value as unknown[]
    if (
      value.length === 2 &&
      typeof name === 'string' &&
      typeof instruction === 'string' &&
      agentNameFault(name) === null &&
      / /.test(instruction)
    )
      return [{ name, instruction }]
    if (value.length === 1 && isRecord(name)) return agentsIn(name)
    return null
  }
  if (!isRecord(value)) return null
  if (typeof value['name'] === 'string')
    return [{ instruction: '…', ...value, name: value['name'] }].map(nameFirst)
  const entries = Object.entries(value)
  const [first] = entries
  if (entries.length === 1 && Array.isArray(first?.[1])) return first[1] as Slot[]
  if (entries.length === 0 || !entries.every(([, each]) => typeof each === 'string' || isRecord(each)))
    return null
  return entries
    .map(([name, each]) =>
      typeof each === 'string'
        ? { name, instruction: each }
        : { instruction: '…', ...(each as object), name },
    )
    .map(nameFirst)
}

const nameFirst = ({ name, ...rest }: Slot): Slot => ({ name, ...rest })

/** Reads `collector`, or `collector: Find the filings.` */
function slotOf(text: string): Slot | null {
  const [, name = text.trim(), instruction = '…'] = /^([^:：]{1,64})[:：]\s*(\S[\s\S]*)$/u.exec(text) ?? []
  return agentNameFault(name) === null ? { name, instruction } : null
}

/** Whether the objects of a schema are agents. */
const isAgent = (schema: JsonObject): boolean => 'instruction' in propertiesOf(schema, null)
