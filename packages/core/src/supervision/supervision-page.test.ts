// docs/reference/supervision.md, held to the table of supervisors: every row, in the order of the table.
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { SupervisorSpec } from './supervisor-spec.ts'
import { supervisors } from './supervisors.ts'

const page = readFileSync(new URL('../../../../docs/reference/supervision.md', import.meta.url), 'utf8')
const documented = [...page.matchAll(/^\| `(\w+)` \|.*$/gm)].map(([line]) => line)

const seconds = (ms: number): string => (ms % 60_000 === 0 ? `${ms / 60_000} min` : `${ms / 1_000} s`)

function rowOf({ id, strategy, children, intensity, backoff, escalation }: SupervisorSpec): string {
  const restarts = [...new Set(children.map(({ restart }) => restart))].join(', ')
  const within = intensity.periodMs === null ? 'in its life' : `in ${seconds(intensity.periodMs)}`
  const counted = intensity.counts === 'all_children' ? ', all together' : ''
  const first = backoff.pauseMsFirst === undefined ? '' : `${backoff.pauseMsFirst} ms, then `
  const pauses = backoff.pauseMsMax === 0 ? 'none' : `${first}${backoff.pauseMsMin}–${backoff.pauseMsMax} ms${backoff.jitter ? ', jittered' : ''}`
  const cells = [
    `\`${id}\``,
    children.map((child) => child.id).join(', '),
    strategy,
    restarts,
    `${intensity.restartsMax} ${within}${counted}`,
    pauses,
    escalation.kind,
    escalation.says,
  ]
  return `| ${cells.join(' | ')} |`
}

it('shows every supervisor with its data', () => {
  expect(documented).toEqual(Object.values(supervisors).map(rowOf))
})

it('names each supervisor by its key', () => {
  for (const [key, { id }] of Object.entries(supervisors)) expect(id).toBe(key)
})
