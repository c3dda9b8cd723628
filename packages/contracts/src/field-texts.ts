// What a field means, as data beside a schema: the shape of such a table, and how its texts get into a JSON
// Schema. The schemas of events have no `.describe()`. A daemon checks events all the time and never reads a
// description, and zod makes a second schema for each `.describe()` when a module loads. A field without a
// text does not compile.
import type {
  EvidenceCheck,
  EvidenceRequirement,
  ExecutionGraph,
  ExecutionNode,
  Failure,
  ImagePart,
  NodeOutput,
  SharedStateChange,
  Taint,
  TaskRequest,
  ToolCall,
  Usage,
} from '@beaver/core'

/**
 * The shapes that have their texts in shape-texts.ts. A table of fields says nothing about what is in them.
 */
type SharedShape =
  | EvidenceCheck
  | EvidenceRequirement
  | ExecutionGraph
  | ExecutionNode
  | Failure
  | ImagePart
  | NodeOutput
  | SharedStateChange
  | Taint
  | TaskRequest
  | ToolCall
  | Usage

/**
 * The object that a field holds, itself or in a list. Shared shapes, ids and free JSON objects do not count.
 */
type Held<Value> = [NonNullable<Value>] extends [never]
  ? never
  : NonNullable<Value> extends readonly (infer Item)[]
    ? Held<Item>
    : NonNullable<Value> extends SharedShape | string | number | boolean
      ? never
      : NonNullable<Value> extends object
        ? string extends keyof NonNullable<Value>
          ? never
          : NonNullable<Value>
        : never

/**
 * A text for each field. A field that holds an object has the texts of the object's fields beside its own.
 */
export type TextsOf<Shape> = {
  readonly [Field in keyof Shape]-?: [Held<Shape[Field]>] extends [never]
    ? string
    : readonly [says: string, of: TextsOf<Held<Shape[Field]>>]
}

/** The texts without the type of their shape, as code reads them. */
export interface Texts {
  readonly [field: string]: string | readonly [says: string, of: Texts]
}

type Schema = Record<string, unknown>

/**
 * Writes the texts into a JSON Schema, and into those of the objects in it. A description that is there
 * already stays.
 */
export function describeFields(schema: Schema, texts: Texts): void {
  for (const [name, field] of Object.entries(objectOf(schema['properties']))) {
    const text = texts[name]
    if (text === undefined) continue
    const [says, of] = typeof text === 'string' ? [text, null] : text
    const described = objectOf(field)
    described['description'] ??= says
    if (of !== null) for (const held of heldObjects(described)) describeFields(held, of)
  }
}

function heldObjects(schema: Schema): Schema[] {
  if (schema['properties'] !== undefined) return [schema]
  if (schema['items'] !== undefined) return heldObjects(objectOf(schema['items']))
  return Array.isArray(schema['anyOf']) ? schema['anyOf'].flatMap((each) => heldObjects(objectOf(each))) : []
}

const objectOf = (value: unknown): Schema =>
  typeof value === 'object' && value !== null ? (value as Schema) : {}
