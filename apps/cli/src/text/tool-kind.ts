// What a tool reads and does, in a few words: `reads web (fetch)`, `writes (send)`, `none`.
import type { ToolKind } from '@beaver/agent'

/** In brackets is what a call does with its arguments: the row of `egress.policy` that applies to it. */
export function toolKindText({ reads, effects, sink }: ToolKind): string {
  const brings = reads === 'own' ? '' : ` ${reads === 'depends' ? 'by call' : reads}`
  const does = effects === 'reads' ? `reads${brings}` : `${effects}${brings === '' ? '' : `, reads${brings}`}`
  return sink === null ? does : `${does} (${sink})`
}
