// The tool and the team, with the simulated model: no key, no network, and the same answer each time.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { AgentService } from '@beaver/service'

const home = await mkdtemp(join(tmpdir(), 'my-team-'))
// The environment has no key, so the simulated model answers.
const env = { PATH: process.env['PATH'], HOME: home }
const service = new AgentService({ workspace: import.meta.dirname, home, env })
after(async () => {
  await service.shutdown()
  await rm(home, { recursive: true })
})

test('an agent counts days with the tool', async () => {
  const result = await service.processDirect(
    'Call `days_between` with {"from": "2026-02-28", "to": "2026-03-01"}.',
  )
  assert.equal(result.status, 'completed')
  assert.match(result.output_text ?? '', /"days": ?1\b/)
})

test('the tool refuses what is no date', async () => {
  const result = await service.processDirect(
    'Call `days_between` with {"from": "yesterday", "to": "2026-03-01"}.',
  )
  assert.match(result.output_text ?? '', /Invalid ISO date/)
})

test('the team of the skill reads the plan and counts the days', async () => {
  const result = await service.processDirect('How long do we have?', { skill: 'release-plan' })
  assert.equal(result.status, 'completed')
  assert.equal(result.simulated, true)
  assert.match(result.output_text ?? '', /105/)
})
