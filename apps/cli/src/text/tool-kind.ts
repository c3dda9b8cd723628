// Describes what a tool reads and does, such as `reads web (fetch)`, `writes (send)` or `none`.
import type { ToolKind } from '@beaver/agent'

/**
 * The text for a tool. The word in brackets is the sink of its calls: the row of `egress.policy` that
 * applies.
 */
export function toolKindText({ reads, effects, sink }: ToolKind): string {
  const brings = reads === 'own' || reads === 'public' ? '' : ` ${reads === 'depends' ? 'by call' : reads}`
  const does = effects === 'reads' ? `reads${brings}` : `${effects}${brings === '' ? '' : `, reads${brings}`}`
  return sink === null ? does : `${does} (${sink})`
}
