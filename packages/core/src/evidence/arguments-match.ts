// Decides whether the arguments of a call contain what a requirement names. An object matches if each named
// field matches; its other fields may be anything. A list matches if each wanted item matches some item of
// it. All other values must be equal: `1` equals `1.0` and does not equal `"1"`.

/** @param sent the text that the model sent as arguments; it may not be JSON */
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
    return (
      isObject(value) &&
      Object.entries(wanted).every(
        ([field, each]) => Object.hasOwn(value, field) && holds(value[field], each),
      )
    )
  }
  return value === wanted
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !isList(value)
