// docs/reference/supervision.md, held to the table of supervisors: every row, in the order of the table.
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { RestartPolicy, SupervisorSpec } from './supervisor-spec.ts'
import { supervisors } from './supervisors.ts'

const page = readFileSync(new URL('../../../../docs/reference/supervision.md', import.meta.url), 'utf8')
const documented = [...page.matchAll(/^\| `(\w+)` \|.*$/gm)].map(([line]) => line)

const seconds = (ms: number): string => (ms % 60_000 === 0 ? `${ms / 60_000} min` : `${ms / 1_000} s`)

function rowOf({ id, what, intensity, backoff, escalation, why }: RestartPolicy | SupervisorSpec): string {
  const within = intensity.periodMs === null ? 'in its life' : `in ${seconds(intensity.periodMs)}`
  const counted = intensity.counts === 'all_children' ? ', all together' : ''
  const cells = [
    `\`${id}\``,
    what,
    `${intensity.restartsMax} ${within}${counted}`,
    pausesOf(backoff),
    escalation.kind,
    escalation.says,
    why,
  ]
  return `| ${cells.join(' | ')} |`
}

function pausesOf(backoff: RestartPolicy['backoff']): string {
  if (backoff === null) return 'none'
  const first = backoff.pauseMsFirst === undefined ? '' : `${backoff.pauseMsFirst} ms, then `
  return `${first}${backoff.pauseMsMin}–${backoff.pauseMsMax} ms${backoff.jitter ? ', jittered' : ''}`
}

it('shows every supervisor with its data', () => {
  expect(documented).toEqual(Object.values(supervisors).map(rowOf))
})

it('names each supervisor by its key', () => {
  for (const [key, { id }] of Object.entries(supervisors)) expect(id).toBe(key)
})
