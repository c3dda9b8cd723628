// Given what the daemons hold, when it is shown in so many columns, then these lines.
import type { ActorLoop, ActorPolicy, ActorTask, DaemonActors } from '@beaver/contracts'
import { describe, expect, it } from 'vitest'
import { styleOf, symbolsOf } from '../text/style.ts'
import { textWidth } from '../text/width.ts'
import { actorLines, type AskedDaemon } from './actor-tree.ts'

const surface = (columns: number) => ({
  columns,
  style: styleOf(false),
  symbols: symbolsOf({ utf8: true, turning: false }),
})

const policy: ActorPolicy = {
  supervisor: 'worker_pool',
  children: 'worker_thread',
  strategy: 'one_for_one',
  restarts_max: 20,
  period_ms: 60_000,
  counts: 'all_children',
  pause: { ms_min: 50, ms_max: 1_000, jitter: false },
  when_exceeded: 'fail',
  says: 'the daemon ends, and its supervisor decides',
}
const inItsLife = { restarts_max: 3, period_ms: null, counts: 'each_child', pause: null } as const
const policies: ActorPolicy[] = [
  policy,
  { ...policy, supervisor: 'task', children: 'task', ...inItsLife, restarts_max: 5 },
  { ...policy, supervisor: 'task_without_progress', children: 'task', ...inItsLife, restarts_max: 100 },
  { ...policy, supervisor: 'loop', children: 'loop', ...inItsLife },
]

const loop: ActorLoop = {
  run_id: 'run_01m848rs6rq5tz6wrw0k2c9a7d',
  agent: 'root',
  node_id: null,
  attempt: 1,
  status: 'acting',
  thread: 1,
  restarts: 0,
}
const node = (id: string, of: Partial<ActorLoop> = {}): ActorLoop => ({
  ...loop,
  run_id: `run_${id}`,
  agent: id,
  node_id: id,
  ...of,
})
const task: ActorTask = {
  task_id: 'task_01m848rs5e1k2v3p4q5r6s7t8v',
  session_id: 's',
  title: 'Compare the offers',
  workflow: null,
  state: 'running',
  driven_ms: 12_300,
  owners_lost: { charged: 0, in_a_row: 0 },
  root: loop,
  teams: [
    {
      team_run_id: 'team_1',
      workflow: 'GraphWorkflow',
      state: 'watching',
      nodes: 5,
      nodes_ended: 2,
      loops: [node('a', { status: 'thinking' }), node('b', { status: 'waiting_for_limit', restarts: 1 })],
      loops_left_out: 0,
    },
  ],
}
const actors: DaemonActors = {
  daemon: 'daemon_01m848r0',
  pid: 4242,
  tasks_driven: 1,
  tasks_max: 256,
  policies,
  threads: [{ thread: 1, loops: 3, answers: true }],
  threads_max: 1,
  thread_restarts: 0,
  tasks: [task],
  tasks_left_out: 0,
}
const answered = (of: Partial<DaemonActors> = {}): AskedDaemon => ({
  kind: 'answered',
  actors: { ...actors, ...of },
})
const shown = (daemons: readonly AskedDaemon[], columns = 80): string[] =>
  actorLines(daemons, surface(columns))

describe('the tree of actors', () => {
  it('has threads, tasks, agents and teams, each with its restarts, and below it the policies', () => {
    expect(shown([answered()])).toEqual([
      'daemon daemon_01m848r0  process 4242  1 of 256 tasks',
      '├─ worker threads  1 of 1  restarts 0 of 20 in 1 min',
      '│  └─ thread 1  3 loops',
      '└─ task task_01m848rs5e1k  running  12.3 s  owners lost 0 of 5  Compare the off…',
      '   └─ root  acting  thread 1  restarts 0 of 3',
      '      └─ GraphWorkflow  watching  2 of 5 nodes ended',
      '         ├─ a  thinking  thread 1  restarts 0 of 3',
      '         └─ b  waits for a limit  thread 1  restarts 1 of 3',
      '',
      'SUPERVISOR             STRATEGY     RESTARTS          PAUSE         THEN',
      'worker_pool            one_for_one  20 in 1 min, all  50 ms to 1 s  fail',
      'task                   one_for_one  5 in its life     none          fail',
      'task_without_progress  one_for_one  100 in its life   none          fail',
      'loop                   one_for_one  3 in its life     none          fail',
    ])
  })

  it('shows the team of a workflow without a root agent below its task', () => {
    const lines = shown([
      answered({ tasks: [{ ...task, root: null, workflow: 'GraphWorkflow', title: null }] }),
    ])
    expect(lines[3]).toContain('owners lost 0 of 5  GraphWorkflow')
    expect(lines[4]).toBe('   └─ GraphWorkflow  watching  2 of 5 nodes ended')
  })

  it('says what did not answer: a daemon, a thread, and the loops of that thread', () => {
    const silent = answered({
      threads: [{ thread: 1, loops: 1, answers: false }],
      tasks: [{ ...task, teams: [], root: { ...loop, status: null } }],
    })
    const lines = shown([{ kind: 'unanswered', daemon: 'daemon_old', reason: 'No answer.' }, silent])
    expect(lines[0]).toBe('daemon daemon_old  did not answer  No answer.')
    expect(lines[3]).toBe('│  └─ thread 1  does not answer  1 loop')
    expect(lines[5]).toContain('root  does not answer  thread 1')
  })

  it('says that a loop has no thread yet, and how often its task lost an owner in a row', () => {
    const lines = shown([
      answered({
        tasks: [
          {
            ...task,
            owners_lost: { charged: 1, in_a_row: 2 },
            root: { ...loop, status: null, thread: null },
            teams: [],
          },
        ],
      }),
    ])
    expect(lines[3]).toContain('owners lost 1 of 5')
    expect(lines[4]).toBe('   ├─ owners lost in a row without progress: 2 of 100')
    expect(lines[5]).toContain('root  has no thread yet  restarts 0 of 3')
  })

  it('counts what is left out', () => {
    const [team] = task.teams
    const lines = shown([
      answered({
        tasks: [{ ...task, teams: [{ ...team!, loops: [], loops_left_out: 1 }] }],
        tasks_left_out: 40,
      }),
    ])
    expect(lines).toContain('│        └─ 1 more loop')
    expect(lines).toContain('└─ 40 more tasks')
  })

  it('names the daemons of policies that differ, and shows equal policies once', () => {
    const other = { daemon: 'daemon_2', policies: [policy] }
    expect(shown([answered(), answered({ daemon: 'daemon_2' })]).filter((line) => line.startsWith('SUPERVISOR'))).toHaveLength(1) // prettier-ignore
    expect(shown([answered(), answered(other)])).toEqual(
      expect.arrayContaining(['of daemon_01m848r0', 'of daemon_2']),
    )
  })

  it.each([40, 80, 120])('fits %i columns, and no name moves the cursor', (columns) => {
    const hostile = `\u001B[2J${'x'.repeat(300)}\nsecond\u202E`
    const lines = shown(
      [
        answered({
          daemon: hostile,
          tasks: [
            {
              ...task,
              task_id: hostile,
              title: hostile,
              workflow: hostile,
              root: { ...loop, agent: hostile, run_id: hostile },
              teams: [{ ...task.teams[0]!, workflow: hostile, loops: [node(hostile, { agent: 'b' })] }],
            },
          ],
        }),
        { kind: 'unanswered', daemon: hostile, reason: hostile },
      ],
      columns,
    )
    // oxlint-disable-next-line no-control-regex
    expect(lines.filter((line) => /[\u0000-\u001F\u202E]/.test(line))).toEqual([])
    const tree = lines.slice(0, lines.indexOf(''))
    expect(tree.filter((line) => textWidth(line) > columns)).toEqual([])
  })

  it('cuts no id where the output is no terminal', () => {
    expect(shown([answered()], Infinity).join('\n')).toContain(task.task_id)
  })
})
