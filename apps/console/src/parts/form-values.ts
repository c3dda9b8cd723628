// What a form made from a JSON Schema holds, and the JSON that it means. Pure.

export interface FieldSchema {
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly oneOf?: readonly FieldSchema[]
  readonly anyOf?: readonly FieldSchema[]
  readonly format?: string
  readonly items?: FieldSchema
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly required?: readonly string[]
}

/** How a field is shown: one line, several lines, a box, a list of choices, a number, or JSON as text. */
export type FieldKind = 'line' | 'lines' | 'box' | 'choice' | 'choices' | 'number' | 'json'

export interface FormField {
  readonly name: string
  readonly label: string
  readonly description: string | null
  readonly kind: FieldKind
  readonly required: boolean
  /** The choices: the text that is kept, and what a person reads. */
  readonly choices: readonly (readonly [value: string, title: string])[]
  /** The text with which the field begins. */
  readonly initial: string
  /** Of a field that takes JSON: something of the right shape, to be changed. Empty: there is none. */
  readonly example: string
}

/** The fields of an object schema. */
export function fieldsOf({ properties = {}, required = [] }: FieldSchema): readonly FormField[] {
  return Object.entries(properties).map(([name, schema]) => {
    const kind = kindOf(schema)
    return {
      name,
      label: schema.title ?? name,
      description: schema.description ?? null,
      kind,
      required: required.includes(name),
      choices: choicesOf(kind === 'choices' ? (schema.items ?? {}) : schema),
      initial: textOf(schema.default, kind),
      example: kind === 'json' ? textOf(exampleOf(schema, name), kind) : '',
    }
  })
}

/** More levels of a schema get no example. */
const levelsMax = 6

/**
 * A value of the shape that a schema describes, with the fields that are required. Texts are the names of their
 * fields. A list of objects has two, because most lists of agents and steps are useless with one.
 */
export function exampleOf(schema: FieldSchema, name: string, level = 0): unknown {
  const given = [schema.default, schema.const, schema.enum?.[0]].find((value) => value !== undefined)
  if (given !== undefined) return given
  const one = (schema.oneOf ?? schema.anyOf)?.find(({ type }) => type !== 'null')
  if (one !== undefined && level < levelsMax) return exampleOf(one, name, level + 1)
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.find((each) => each !== 'null')
  switch (type) {
    case 'string':
      return name
    case 'integer':
    case 'number':
      return schema.minimum ?? 1
    case 'boolean':
      return false
    case 'array': {
      const { items } = schema
      if (items === undefined || level >= levelsMax) return []
      return items.type === 'object'
        ? [1, 2].map((at) => exampleOf(items, `${name.replace(/s$/, '')} ${at}`, level + 1))
        : [exampleOf(items, name, level + 1)]
    }
    case 'object':
      return level >= levelsMax
        ? {}
        : Object.fromEntries(
            (schema.required ?? []).map((field) => [
              field,
              exampleOf(schema.properties?.[field] ?? {}, numbered(field, name), level + 1),
            ]),
          )
    default:
      return null
  }
}

/** The texts of two objects in one list differ, and a name says whose it is: names are often unique. */
const numbered = (field: string, of: string): string => {
  if (field === 'name') return of
  const number = /\d+$/.exec(of)?.[0]
  return number === undefined ? field : `${field} ${number}`
}

/** What the fields of a form hold that means this JSON. */
export const textsOf = (
  fields: readonly FormField[],
  value: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    fields.flatMap(({ name, kind }) =>
      value[name] === undefined ? [] : [[name, value[name] === false ? '' : textOf(value[name], kind)]],
    ),
  )

function kindOf(schema: FieldSchema): FieldKind {
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.find((each) => each !== 'null')
  if (schema.enum !== undefined || schema.oneOf?.every((each) => each.const !== undefined) === true)
    return 'choice'
  if (type === 'boolean') return 'box'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'string')
    return (schema.maxLength ?? 0) > 200 || schema.maxLength === undefined ? 'lines' : 'line'
  if (type === 'array' && schema.items !== undefined && kindOf(schema.items) === 'choice') return 'choices'
  return 'json'
}

const choicesOf = ({ enum: values, oneOf }: FieldSchema): FormField['choices'] =>
  values !== undefined
    ? values.map((value) => [String(value), String(value)])
    : (oneOf ?? []).map(({ const: value, title }) => [String(value), title ?? String(value)])

function textOf(value: unknown, kind: FieldKind): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  return kind === 'choices' && Array.isArray(value) ? value.join('\n') : JSON.stringify(value, null, 2)
}

/** The JSON of a form, or the fields that cannot be read, each with what it takes. */
export type FormResult =
  | { readonly value: Readonly<Record<string, unknown>> }
  | { readonly faults: Readonly<Record<string, string>> }

/** @param texts what the fields hold. Chosen choices are separated by line breaks; a box holds "true" or "" */
export function readForm(fields: readonly FormField[], texts: Readonly<Record<string, string>>): FormResult {
  const faults: Record<string, string> = {}
  const entries = fields.flatMap((field) => {
    const text = texts[field.name] ?? field.initial
    if (text.trim() === '' && field.kind !== 'box') {
      if (field.required) faults[field.name] = 'This field needs a value.'
      return []
    }
    const value = valueOf(field.kind, text)
    if (value === undefined)
      faults[field.name] = field.kind === 'number' ? 'This is no number.' : 'This is no JSON.'
    return [[field.name, value] as const]
  })
  return Object.keys(faults).length > 0 ? { faults } : { value: Object.fromEntries(entries) }
}

function valueOf(kind: FieldKind, text: string): unknown {
  switch (kind) {
    case 'line':
    case 'lines':
    case 'choice':
      return text
    case 'choices':
      return text.split('\n').filter((each) => each !== '')
    case 'box':
      return text === 'true'
    case 'number':
      return Number.isFinite(Number(text)) ? Number(text) : undefined
    case 'json':
      try {
        return JSON.parse(text) as unknown
      } catch {
        return undefined
      }
    default:
      return kind satisfies never
  }
}
