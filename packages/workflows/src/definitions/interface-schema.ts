// Builds the parameters of a tool from `interfaceInputs` (a type, a description, an enum: CT-09 to CT-13),
// and the inputs from a call's arguments (CT-14). Defaults are filled in here, and the model does not see
// them. An argument of another type is refused with the correct spelling.
import { canonicalJson, type JsonObject, type JsonValue } from '@beaver/core'
import { isRecord, parsedJson } from '../arguments/json-text.ts'
import { didYouMean, quote, quoteAll } from '../arguments/wording.ts'
import { type Refusal, refuse } from '../workflow-error.ts'
import { called, schemaOf, takes } from './data-types.ts'
import type { InterfaceInput } from './definition-file.ts'
import { isJson } from './text.ts'

type Inputs = Readonly<Record<string, InterfaceInput>>

/** The inputs that a call may give: all except streams. */
export const parameterInputs = (inputs: Inputs): [string, InterfaceInput][] =>
  Object.entries(inputs).filter(([, input]) => input.isStream !== true)

export function parametersOf(inputs: Inputs): JsonObject {
  const parameters = parameterInputs(inputs)
  const properties = parameters.map(([name, input]): [string, JsonObject] => {
    const description = describe(input)
    return [
      name,
      { ...schemaOf(input, allowedValues(input)), ...(description === null ? {} : { description }) },
    ]
  })
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: parameters.filter(([, input]) => input.required === true).map(([name]) => name),
  }
}

/** The description by D-14. */
function describe(input: InterfaceInput): string | null {
  return (
    [input.description, input.customDescription, input.displayName].find(
      (text) => text !== undefined && text.trim() !== '',
    ) ?? null
  )
}

/** The values of a `ComboOption`, each once. Empty for any other input. */
export function allowedValues(input: InterfaceInput): readonly JsonValue[] {
  if (input.matchCategories?.includes('ComboOption') !== true) return []
  const suggestions = input.config?.suggestions ?? input.suggestions ?? []
  const values = suggestions.map((each) => (isRecord(each) ? (each as JsonObject)['value'] : each))
  const kept = values.filter((value) => value !== undefined)
  return kept.filter(
    (value, index) => kept.findIndex((other) => canonicalJson(other) === canonicalJson(value)) === index,
  )
}

/** What is wrong with an input's value. `null` if it is valid. */
export function valueFault(input: InterfaceInput, value: JsonValue): string | null {
  if (!takes(input, value)) return `must be ${called(input)}`
  const allowed = allowedValues(input)
  if (allowed.length === 0) return null
  const among = (each: JsonValue): boolean =>
    allowed.some((other) => canonicalJson(other) === canonicalJson(each))
  const good = input.multi === true ? (value as readonly JsonValue[]).every(among) : among(value)
  return good
    ? null
    : `must be ${input.multi === true ? 'an array of these: ' : 'one of '}${quoteAll(allowed.map(String))}`
}

/** The value of an input that is not given. */
export const defaultOf = (input: InterfaceInput): JsonValue => input.config?.default ?? null

/** The value of every input, or the first fault of the arguments, in the order of the inputs. */
export function readInputs(
  inputs: Inputs,
  args: unknown,
): { readonly ok: true; readonly values: JsonObject } | Refusal {
  if (!isRecord(args)) return refuse('invalid_arguments', '', argumentsFault(args, inputs))
  const parameters = new Map(parameterInputs(inputs))
  const unknown = Object.keys(args).find((name) => !parameters.has(name))
  const values: [string, JsonValue][] = []
  for (const [name, input] of Object.entries(inputs)) {
    const value =
      Object.hasOwn(args, name) && input.isStream !== true ? (args[name] as JsonValue | undefined) : undefined
    if (value === undefined) {
      if (input.required === true)
        return refuse('invalid_arguments', name, missingFault(name, input, unknown))
      values.push([name, defaultOf(input)])
      continue
    }
    const fault = isJson(value) ? valueFault(input, value) : 'must be JSON'
    if (fault !== null)
      return refuse(
        'invalid_arguments',
        name,
        `${quote(name)} is ${quote(value)}, but ${fault}.${hint(input, value)}`,
      )
    values.push([name, value])
  }
  if (unknown !== undefined) {
    const known =
      parameters.size === 0
        ? 'this tool takes no arguments'
        : `the fields here are ${quoteAll([...parameters.keys()])}`
    return refuse(
      'invalid_arguments',
      unknown,
      `The field ${quote(unknown)} is not known. Remove it; ${known}.${didYouMean(unknown, parameters.keys())}`,
    )
  }
  return { ok: true, values: Object.fromEntries(values) }
}

function argumentsFault(args: unknown, inputs: Inputs): string {
  if (typeof args === 'string' && isRecord(parsedJson(args)))
    return 'The arguments are JSON text inside a string. Send the object itself, without quotes around it.'
  const [first] = parameterInputs(inputs)
  return `The arguments are ${quote(args)}, but must be an object such as ${first === undefined ? '{}' : `{${quote(first[0])}: …}`}.`
}

function missingFault(name: string, input: InterfaceInput, unknown: string | undefined): string {
  const renamed =
    unknown === undefined ? '' : ` (${quote(unknown)} is not a field here: was ${quote(name)} meant?)`
  const about = describe(input)
  return `${quote(name)} is missing${renamed}: give ${called(input)}.${about === null ? '' : ` ${about}`}`
}

/** The correct spelling of a value in a wrong form. */
function hint(input: InterfaceInput, value: JsonValue): string {
  if (value === null && input.required !== true) return ' Or leave the field out.'
  const parsed = typeof value === 'string' ? (parsedJson(value) as JsonValue | undefined) : undefined
  if (parsed !== undefined && takes(input, parsed))
    return ` It is JSON text inside a string: write it without quotes around it.`
  return input.multi === true && takes({ ...input, multi: false }, value)
    ? ` Write an array: ${quote([value])}.`
    : ''
}
