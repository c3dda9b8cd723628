// The text of an output without its fence, and the faults of an output in words. What finds the faults is in
// structured-output.ts, so a screen can use this file without it.
import type { ValueFault } from './check-schema.ts'

/**
 * The content of a text that is exactly one fenced block; any other text is only trimmed.
 *
 * @example
 * withoutFence('```json\n{"a": 1}\n```') // => '{"a": 1}'
 * withoutFence(' {"a": 1} ') // => '{"a": 1}'
 */
export function withoutFence(text: string): string {
  const trimmed = text.trim()
  const fence = /^(?:`{3,}|~{3,})/.exec(trimmed)?.[0]
  if (fence === undefined) return trimmed
  const lines = trimmed.split('\n')
  const closing = lines.findIndex(
    (line, i) => i > 0 && line.trim().startsWith(fence) && line.trim().replaceAll(fence[0] ?? '', '') === '',
  )
  return closing === lines.length - 1 && closing > 0 ? lines.slice(1, -1).join('\n').trim() : trimmed
}

/**
 * The message with which a model is asked to write a refused answer again.
 *
 * @example
 * repairMessage([{ path: '/n', message: 'must be a number' }]).includes('- /n: must be a number.') // => true
 */
export function repairMessage(faults: readonly ValueFault[]): string {
  const lines = faults.map(({ path, message }) => `- ${path === '' ? 'the whole answer' : path}: ${message}.`)
  return `Your answer does not fit the JSON Schema of <output_schema>:\n${lines.join('\n')}\nWrite the whole answer again, as one JSON value that fits the schema. Keep what was right, change only what is named here, and write no other text.`
}

/**
 * The faults in one line, for people.
 *
 * @example
 * faultsText([{ path: '/n', message: 'must be a number' }]) // => '/n: must be a number'
 */
export const faultsText = (faults: readonly ValueFault[]): string =>
  faults
    .slice(0, 3)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
    .join('; ') + (faults.length > 3 ? `; and ${faults.length - 3} more` : '')
