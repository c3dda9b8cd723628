// JSON values: their types and their schemas. Their canonical text is in canonical-json.ts.
import { z } from 'zod'

/** A value that JSON can express. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }
/** An object that JSON can express. */
export type JsonObject = { readonly [key: string]: JsonValue }

/** The schema of a JSON value. */
export const jsonValue = z.json() as unknown as z.ZodType<JsonValue>
/** The schema of a JSON object. */
export const jsonObject = z.record(z.string(), z.json()) as unknown as z.ZodType<JsonObject>
