// Each bound of the configuration reaches the tasks of a daemon.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Config, loadConfig } from '@beaver/platform'
import { expect, it } from 'vitest'
import { egressRules, taskLimits } from './daemon-workers.ts'

function configured(content: object): Config {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-limits-'))
  try {
    writeFileSync(join(folder, 'beaver.config.json'), JSON.stringify(content))
    return loadConfig({ trust: true }, {}, folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

it('the bounds of tasks', () => {
  const config = configured({
    agent: { tool_iterations_max: 11, node_tool_iterations_max: 12, repeats_max: 21 },
    team: {
      concurrent_nodes_max: 13,
      runs_max: 14,
      agents_max: 15,
      edges_max: 16,
      deadline_ms: 17_000,
      node_deadline_ms: 18_000,
    },
    daemon: { owners_lost_max: 19 },
    permissions: { unattended: 'refuse', wait_ms_max: 20_000 },
  })
  expect(taskLimits(config)).toEqual({
    toolIterationsMax: 11,
    nodeToolIterationsMax: 12,
    repeatsMax: 21,
    concurrentNodesMax: 13,
    teamRunsMax: 14,
    graphMax: { agents: 15, edges: 16 },
    teamDeadlineMs: 17_000,
    nodeDeadlineMs: 18_000,
    ownersLostMax: 19,
    unattended: 'refuse',
    approvalWaitMsMax: 20_000,
  })
})

it('a deadline of 0 is none', () => {
  expect(taskLimits(configured({ team: { deadline_ms: 0, node_deadline_ms: 0 } }))).toMatchObject({
    teamDeadlineMs: null,
    nodeDeadlineMs: null,
  })
})

it('where runs may send something', () => {
  const egress = {
    policy: { send: { untrusted: 'deny' } },
    hosts_allowed: ['docs.example'],
    secret_paths: ['*.key'],
    untrusted_paths: ['mail/*'],
    own_paths: ['vendor/*'],
  }
  const { policy, ...rules } = egressRules(configured({ egress }))
  expect(rules).toEqual({
    hostsAllowed: ['docs.example'],
    secretPaths: ['*.key'],
    untrustedPaths: ['mail/*'],
    ownPaths: ['vendor/*'],
  })
  expect(policy).toEqual({
    ...egressRules(configured({})).policy,
    send: { ...egressRules(configured({})).policy.send, untrusted: 'deny' },
  })
})
