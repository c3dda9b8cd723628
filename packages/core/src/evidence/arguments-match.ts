// Whether a call's arguments hold what a requirement names.
// M1. An object holds another when each of its fields does; fields that are not named may be anything. A list holds another
//     when each item of that is held by some item of it. Everything else is equal or not: `1` is `1.0` and is not `"1"`.

/** @param sent the text the model sent as arguments; it may not be JSON */
export function argumentsMatch(sent: string, wanted: unknown): boolean {
  try {
    return holds(JSON.parse(sent.trim() === '' ? '{}' : sent), wanted)
  } catch {
    return false
  }
}

function holds(value: unknown, wanted: unknown): boolean {
  if (isList(wanted)) return isList(value) && wanted.every((each) => value.some((item) => holds(item, each)))
  if (isObject(wanted)) {
    return isObject(value) && Object.entries(wanted).every(([field, each]) => Object.hasOwn(value, field) && holds(value[field], each))
  }
  return value === wanted
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null && !isList(value)
