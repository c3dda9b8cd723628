// Given what the supervisors and the pool of a daemon hold, when it is asked for its actors, then this answer. A
// real daemon with a team under way is in test/system/daemon-teams.test.ts.
import { requestContracts } from '@beaver/contracts'
import { startTeam } from '@beaver/core/fold'
import { failurePolicies, policiesWith } from '@beaver/core/supervision'
import type { TaskNow } from '@beaver/runtime'
import { expect, it } from 'vitest'
import { actorsOf } from './actors.ts'

const start = {
  run_id: 'run_1',
  parent_run_id: null,
  attempt_index: 1,
  agent_name: 'root',
  team_run_id: null,
  node_id: null,
  source: 'test',
  max_tool_iterations: 20,
} as TaskNow['loops'][number]['start']

const loop = (runId: string, of: Partial<TaskNow['loops'][number]> = {}): TaskNow['loops'][number] => ({
  runId,
  start: { ...start, run_id: runId as never },
  restarts: 0,
  asked: [],
  budgetMs: null,
  teams: [],
  pause: null,
  ...of,
})

const task = (id: string, of: Partial<TaskNow> = {}): TaskNow => ({
  log: { tenant: 'local', session: 's', task: id } as TaskNow['log'],
  request: { text: 'x', workspace: '/', source: 'test', skill: null } as unknown as TaskNow['request'],
  state: 'running',
  drivenMs: 1,
  ownersLost: { charged: 0, inARow: 0 },
  loops: [],
  teams: [],
  ...of,
})

const asked = (tasks: readonly TaskNow[], of: Partial<Parameters<typeof actorsOf>[0]> = {}) =>
  actorsOf({
    startedAt: '2026-11-29T00:00:00.000Z',
    daemonId: 'daemon_1',
    config: { tasks_max: 128, worker_threads: 1, owners_lost_max: 5 },
    failurePolicies,
    tasks: tasks.map((now) => ({ now: () => now })),
    pool: { snapshot: async () => ({ threads: [], losses: 0, runs: new Map() }) },
    ...of,
  })

it('has the tasks that were driven longest, and counts the others', async () => {
  const all = Array.from({ length: 203 }, (_, i) => task(`t${i}`, { drivenMs: i }))
  const { tasks, ...told } = await asked(all)
  expect([tasks.length, told.tasks_driven, told.tasks_left_out]).toEqual([200, 203, 3])
  expect([tasks[0]?.task_id, tasks.at(-1)?.task_id]).toEqual(['t202', 't3'])
})

it('counts the tasks and threads alone, if it is asked for no more', async () => {
  const { tasks, policies, ...told } = await asked([task('a'), task('b')], { isShort: true })
  expect([tasks, policies, told.tasks_driven, told.tasks_left_out]).toEqual([[], [], 2, 2])
  expect([told.version, told.started_at]).toEqual([
    expect.stringMatching(/^\d+\.\d+\.\d+/),
    '2026-11-29T00:00:00.000Z',
  ])
})

it('has no task that the daemon let go a moment ago', async () => {
  const ended = (['ended', 'suspended', 'released', 'lost'] as const).map((state) => task(state, { state }))
  expect((await asked([...ended, task('t')])).tasks.map((each) => each.task_id)).toEqual(['t'])
})

it('has at most so many loops that it fits into a message, and counts the others of each team', async () => {
  const graph = { workflow: 'W', task: 't', nodes: [] } as never
  const team = (id: string) => ({
    state: startTeam(
      { team_run_id: id as never, run_id: null, call_id: null, graph, concurrent_nodes_max: 1 },
      0,
    ),
    running: { state: 'watching' } as never,
  })
  const name = 'n'.repeat(128)
  const loops = ['one', 'two'].flatMap((id) =>
    Array.from({ length: 600 }, (_, i) =>
      loop(`run_${id}_${i}`.padEnd(40, 'x'), {
        start: { ...start, team_run_id: id as never, node_id: name, agent_name: name },
      }),
    ),
  )
  const answer = await asked([task('t', { loops, teams: [team('one'), team('two')] })])
  expect(
    answer.tasks[0]?.teams.map(({ loops: { length }, loops_left_out: left }) => [length, left]),
  ).toEqual([[600, 0], [400, 200]]) // prettier-ignore
  expect(JSON.stringify(answer).length).toBeLessThan(700_000)
  expect(requestContracts.actors.output.parse(answer)).toStrictEqual(answer)
})

it('says of a loop what its thread says, unless it waits for a provider or has no thread', async () => {
  const pause = { leftMs: 1, waitsFor: 'limit', reason: 'full' } as const
  const runs = new Map([
    ['acts', { thread: 7, status: 'acting' as const }],
    ['waits', { thread: 7, status: 'thinking' as const }],
    ['silent', { thread: 8, status: null }],
  ])
  const tasks = ['acts', 'waits', 'silent', 'new'].map((id) =>
    task(id, { loops: [loop(id, id === 'waits' ? { pause } : {})] }),
  )
  const answer = await asked(tasks, { pool: { snapshot: async () => ({ threads: [], losses: 0, runs }) } })
  expect(answer.tasks.map(({ root }) => [root?.run_id, root?.status, root?.thread])).toEqual([
    ['acts', 'acting', 7],
    ['waits', 'waiting_for_limit', 7],
    ['silent', null, 8],
    ['new', null, null],
  ])
})

it('has the policies with the numbers of the configuration', async () => {
  const { policies } = await asked([], {
    config: { tasks_max: 1, worker_threads: 1, owners_lost_max: 2 },
    failurePolicies: policiesWith({ retries: { worker_lost: { restartsMax: 7 } } }),
  })
  expect(policies.map(({ supervisor, restarts_max: max }) => [supervisor, max])).toEqual([
    ['worker_pool', 20],
    ['task', 2],
    ['task_without_progress', 40],
    ['loop', 7],
    ['loop_out_of_memory', 1],
    ['loop_suspect_tools', 16],
  ])
})
