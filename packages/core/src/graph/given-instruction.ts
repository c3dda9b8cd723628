import type { FramedText } from '../fold/frame.ts'
import type { JsonObject, JsonValue } from '../json.ts'

/**
 * The instruction that a program gave a node with its input. `null`: the node has the instruction of the
 * graph.
 *
 * @example
 * givenInstruction({ instruction: ['Sum up ', { value: 'Twice a day.' }] }) // => ['Sum up ', { value: 'Twice
 * a day.' }]
 */
export function givenInstruction(input: JsonObject | null): FramedText | null {
  const instruction = input?.['instruction']
  if (typeof instruction === 'string') return instruction
  if (!Array.isArray(instruction)) return null
  return instruction.map((part: JsonValue) => (typeof part === 'string' ? part : { value: valueOf(part) }))
}

function valueOf(part: JsonValue): string {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return ''
  const { value } = part as JsonObject
  return typeof value === 'string' ? value : ''
}
