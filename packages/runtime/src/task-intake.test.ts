import { type SubmitRequest, submitRequest } from '@beaver/contracts'
import { mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BeaverError, type BlobStore, type SessionId } from '@beaver/core'
import { memoryBlobStore, memoryJournal } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { intakeIn, logOf, refusal } from '../test/intake.ts'
import { type IntakePorts, submitTask } from './task-intake.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'beaver-intake-'))
  await writeFile(join(folder, 'file.txt'), 'x')
  await symlink(join(folder, 'gone'), join(folder, 'dangling'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const intake = (over: Partial<IntakePorts> = {}) => intakeIn(folder, over)

describe('a request that is accepted', () => {
  it('is durable as one event, with everything that was asked for', async () => {
    const { submit, stateOf } = intake()
    const answer = await submit({
      task: '报告',
      task_id: 'web:1',
      session_id: 'web:会话',
      workspace: folder,
      skill: 'folder-report',
      source: 'test',
    })
    expect(answer).toEqual({ task_id: 'web:1', session_id: 'web:会话' })
    expect((await stateOf(answer)).submitted).toEqual({
      task_id: 'web:1',
      session_id: 'web:会话',
      tenant: 'local',
      previous_task_id: null,
      request: { text: '报告', workspace: folder, skill: 'folder-report', source: 'test' },
    })
  })

  it('looks at the skills of its workspace only if it may name one', async () => {
    const looked: string[] = []
    const skillsIn = async (workspace: string): Promise<{ name: string }[]> => {
      looked.push(workspace)
      return [{ name: 'local' }]
    }
    const { submit } = intake({ skillsIn })
    await submit({ task: 'x' })
    expect(looked).toEqual([])
    await submit({ task: 'x', skill: 'local' })
    expect(looked).toEqual([await realpath(folder)])
  })

  it('has ids made up for it, and the default workspace', async () => {
    const { submit, stateOf } = intake()
    const answer = await submit({ task: 'x' })
    expect((await stateOf(answer)).submitted).toMatchObject({
      ...answer,
      request: { workspace: folder, skill: null, source: 'nats' },
    })
  })

  it('that is long is a blob, and comes back whole', async () => {
    const { submit, stateOf } = intake()
    const text = '会'.repeat(200_000)
    expect((await stateOf(await submit({ task: text }))).submitted?.request.text).toBe(text)
  })

  it('is durable before its blob is referred to: without the blob nothing is accepted', async () => {
    const broken: BlobStore = {
      ...memoryBlobStore(),
      put: () => Promise.reject(new BeaverError('unreachable', 'no blobs')),
    }
    const { submit, ports } = intake({ blobs: broken })
    expect(await refusal(submit({ task: 'x'.repeat(100_000), task_id: 't', session_id: 's' }))).toEqual([
      'unreachable',
      [],
    ])
    expect(await ports.journal.last(logOf({ task_id: 't', session_id: 's' }))).toBeNull()
  })
})

const agents = [{ name: 'a', instruction: 'do a' }]
const chain = { name: 'SequentialWorkflow', arguments: { task: 'Report', agents } }

describe('a request for a workflow (I3)', () => {
  it('is durable with its arguments as they were given; the text is the task of its graph', async () => {
    const { submit, stateOf } = intake()
    const answer = await submit({ workflow: chain })
    expect((await stateOf(answer)).submitted?.request).toEqual({
      text: 'Report',
      workspace: folder,
      skill: null,
      source: 'nats',
      workflow: chain,
    })
  })

  it('under its prefixed name is the same request', async () => {
    const { submit, stateOf } = intake()
    const prefixed = { ...chain, name: 'mcp_local_team_workflow_mcp_SequentialWorkflow' }
    const answer = await submit({ workflow: prefixed, task_id: 't' })
    expect(await submit({ workflow: chain, task_id: 't' })).toEqual(answer)
    expect((await stateOf(answer)).submitted?.request.workflow?.name).toBe('SequentialWorkflow')
    expect(
      await refusal(submit({ workflow: { ...chain, arguments: { task: 'Another', agents } }, task_id: 't' })),
    ).toEqual(['conflict', []])
  })

  test.each<[string, SubmitRequest, string, string]>([
    ['an unknown name', { workflow: { ...chain, name: 'Nonsense' } }, 'unknown_workflow', 'workflow.name'],
    [
      'a definition that is not loaded',
      { workflow: { ...chain, name: 'workflow:nope' } },
      'unknown_workflow',
      'workflow.name',
    ],
    ['a task besides', { task: 'x', workflow: chain }, 'invalid_arguments', 'task'],
    ['an empty task besides', { task: '', workflow: chain }, 'invalid_arguments', 'task'],
    ['a skill', { skill: 'folder-report', workflow: chain }, 'invalid_arguments', 'skill'],
    ['a profile', { profile: 'analyst', workflow: chain }, 'invalid_arguments', 'profile'],
    ['instructions', { instructions: 'Be brief.', workflow: chain }, 'invalid_arguments', 'instructions'],
    ['a history', { history: [], workflow: chain }, 'invalid_arguments', 'history'],
    [
      'no arguments',
      { workflow: { ...chain, arguments: {} } },
      'invalid_arguments',
      'workflow.arguments.task',
    ],
    [
      'two agents of one name',
      { workflow: { ...chain, arguments: { task: 'x', agents: [...agents, ...agents] } } },
      'invalid_arguments',
      'workflow.arguments.agents.1.name',
    ],
    [
      'an agent with an unknown skill',
      { workflow: { ...chain, arguments: { task: 'x', agents: [{ ...agents[0], use_skill: 'nope' }] } } },
      'unknown_skill',
      'workflow.arguments',
    ],
    [
      'a folder that does not exist',
      { workflow: chain, workspace: '/nowhere/at/all' },
      'workspace_missing',
      'workspace',
    ],
  ])('with %s is refused, and stores nothing', async (_, request, code, path) => {
    const { submit, ports } = intake()
    expect(await refusal(submit({ ...request, task_id: 't', session_id: 's' }))).toEqual([code, [path]])
    expect(await ports.journal.last(logOf({ task_id: 't', session_id: 's' }))).toBeNull()
  })

  it('keeps its arguments as they were resolved, or is refused as they were not', async () => {
    const resolveArguments: IntakePorts['resolveArguments'] = (_, args) =>
      args['task'] === 'who?'
        ? { ok: false, error: { code: 'invalid_arguments', message: 'Nobody knows.', path: 'task' } }
        : { ok: true, args: { ...args, task: 'Report, resolved' } }
    const { submit, stateOf } = intake({ resolveArguments })
    expect((await stateOf(await submit({ workflow: chain }))).submitted?.request).toMatchObject({
      text: 'Report, resolved',
      workflow: { arguments: { task: 'Report, resolved' } },
    })
    expect(await refusal(submit({ workflow: { ...chain, arguments: { task: 'who?', agents } } }))).toEqual([
      'invalid_arguments',
      ['workflow.arguments.task'],
    ])
  })

  it('is refused with the code of the workflow, and the names there are', async () => {
    const twice = { ...chain, arguments: { task: 'x', agents: [...agents, ...agents] } }
    await expect(intake().submit({ workflow: twice })).rejects.toMatchObject({
      message: expect.stringContaining('"a"') as string,
      problems: [{ code: 'duplicate_agent', path: 'workflow.arguments.agents.1.name' }],
    })
    await expect(intake().submit({ workflow: { ...chain, name: 'x' } })).rejects.toThrow(
      'SequentialWorkflow, workflow:summarize',
    )
  })

  test.each<[string, unknown, string]>([
    ['arguments that are a list', { workflow: { name: 'x', arguments: [] } }, 'workflow.arguments'],
    ['arguments that are text', { workflow: { name: 'x', arguments: '{}' } }, 'workflow.arguments'],
    ['no arguments', { workflow: { name: 'x' } }, 'workflow.arguments'],
    ['no name', { workflow: { arguments: {} } }, 'workflow.name'],
    ['a name alone', { workflow: 'SequentialWorkflow' }, 'workflow'],
    ['an unknown field', { workflow: { ...chain, agents: [] } }, 'workflow'],
    ['a profile that is no text', { task: 'x', profile: 1 }, 'profile'],
    ['neither a task nor a workflow', { profile: 'analyst' }, 'task'],
  ])('of a wrong shape: %s', (_, request, path) => {
    expect(submitRequest.safeParse(request).error?.issues.map((issue) => issue.path.join('.'))).toEqual([
      path,
    ])
  })
})

describe('a request with a profile', () => {
  it('has it in its journal; without one it has none', async () => {
    const { submit, stateOf } = intake()
    expect((await stateOf(await submit({ task: 'x', profile: 'analyst' }))).submitted?.request.profile).toBe(
      'analyst',
    )
    expect((await stateOf(await submit({ task: 'x' }))).submitted?.request).not.toHaveProperty('profile')
  })

  it('that is not loaded is refused with the names of those that are, and stores nothing', async () => {
    const { submit, ports } = intake()
    const request = { task: 'x', profile: 'Analyst', task_id: 't', session_id: 's' }
    expect(await refusal(submit(request))).toEqual(['unknown_profile', ['profile']])
    await expect(submit(request)).rejects.toThrow('analyst, writer')
    await expect(intake({ profileNames: [] }).submit(request)).rejects.toThrow('none is loaded')
    expect(await ports.journal.last(logOf({ task_id: 't', session_id: 's' }))).toBeNull()
  })
})

it('says which models a task may name, and that a skill is there but not among its own', async () => {
  const { submit, stateOf } = intake()
  expect((await stateOf(await submit({ task: 'x', model: 'deep' }))).submitted?.request.model).toBe('deep')
  await expect(submit({ task: 'x', model: 'dep' })).rejects.toThrow(
    'There is no model "dep" (loaded: deep, quick).',
  )
  await expect(submit({ task: 'x', skill: 'folder-report', skills: [] })).rejects.toThrow(
    'The skill "folder-report" is not one of "skills".',
  )
})

describe('a budget of a request', () => {
  const given = (usd: number) => ({
    budgets: [{ of: 'task', per: 'run', exceeded: 'wait', usd, tokens: 1_000 }] as const,
  })

  it('is in the journal; an empty one is none', async () => {
    const { submit, stateOf } = intake({ budgets: given(2) })
    const asked = await submit({ task: 'x', budget: { usd: 2, model_calls: 5 } })
    expect((await stateOf(asked)).submitted?.request.budget).toEqual({ usd: 2, model_calls: 5 })
    expect((await stateOf(await submit({ task: 'x', budget: {} }))).submitted?.request).not.toHaveProperty(
      'budget',
    )
  })

  it('is refused above what the configuration gives a task, with both amounts', async () => {
    const { submit } = intake({ budgets: given(2) })
    expect(await refusal(submit({ task: 'x', budget: { usd: 2.01 } }))).toEqual([
      'invalid_arguments',
      ['budget.usd'],
    ])
    await expect(submit({ task: 'x', budget: { tokens: 1_001 } })).rejects.toThrow(
      'The task asks for 1,001 tokens, but the configuration gives a task at most 1,000 tokens.',
    )
    const { submit: unbounded } = intake({ budgets: { budgets: [] } })
    expect(await unbounded({ task: 'x', budget: { usd: 1_000 } })).toHaveProperty('task_id')
  })

  it('that was accepted is still that of the task when the configuration gives less', async () => {
    const { submit, ports } = intake({ budgets: given(2) })
    const request = { task: 'x', task_id: 'bounded', budget: { usd: 2 } } as const
    const accepted = await submit(request)
    const later = { ...ports, budgets: given(1) }
    expect(await submitTask(submitRequest.parse(request), later)).toEqual(accepted)
    expect(await refusal(submit({ ...request, budget: { usd: 1 } }))).toEqual(['conflict', []])
  })
})

describe('the same request again (I1)', () => {
  test.each<[string, SubmitRequest]>([
    ['with its own session', { task: 'x', task_id: 't', session_id: 's' }],
    ['without a session', { task: 'x', task_id: 't' }],
    ['with everything', { task: 'x', task_id: 't', session_id: 's', skill: 'folder-report', source: 'me' }],
  ])('%s has the same answer, and is one task', async (_, request) => {
    const { submit, ports } = intake()
    const first = await submit(request)
    expect(await submit(request)).toEqual(first)
    expect(await submit({ ...request })).toEqual(first)
    expect(await ports.journal.read(logOf(first))).toHaveLength(1)
  })

  it('sent twice at once is one task', async () => {
    const { submit, ports } = intake()
    const request = { task: 'x', task_id: 't' }
    const [first, second] = await Promise.all([submit(request), submit(request)])
    expect(first).toEqual(second)
    expect(await ports.journal.read(logOf(first))).toHaveLength(1)
  })

  test.each<[string, Partial<SubmitRequest>]>([
    ['text', { task: 'y' }],
    ['skill', { skill: 'folder-report' }],
    ['profile', { profile: 'analyst' }],
    ['workspace', { workspace: process.cwd() }],
    ['source', { source: 'another' }],
  ])('with another %s is a conflict, and the first stands', async (_, change) => {
    const { submit, stateOf } = intake()
    const first = await submit({ task: 'x', task_id: 't', session_id: 's' })
    expect(await refusal(submit({ task: 'x', task_id: 't', session_id: 's', ...change }))).toEqual([
      'conflict',
      [],
    ])
    expect((await stateOf(first)).submitted?.request.text).toBe('x')
  })

  it('in another session is a conflict: a task is found by its id alone', async () => {
    const { submit: first, ports } = intake()
    await first({ task: 'x', task_id: 't', session_id: 's' })
    const { submit } = intake({ journal: ports.journal })
    expect(await refusal(submit({ task: 'x', task_id: 't', session_id: 'other' }))).toEqual(['conflict', []])
    expect(await submit({ task: 'x', task_id: 't', session_id: 's' })).toEqual({
      task_id: 't',
      session_id: 's',
    })
    expect(await ports.journal.sessionTail('local', 'other' as SessionId)).toEqual({
      task: null,
      revision: 0,
    })
  })

  it('by its id alone is the task of that id, whatever its session', async () => {
    const { submit, ports } = intake()
    const first = await submit({ task: 'x' })
    const again = intake({ journal: ports.journal })
    expect(await again.submit({ task: 'x', task_id: first.task_id })).toEqual(first)
    expect(await refusal(again.submit({ task: 'y', task_id: first.task_id }))).toEqual(['conflict', []])
    expect(await ports.journal.read(logOf(first))).toHaveLength(1)
  })

  it('leaves the session as it is: the next task follows the first one once', async () => {
    const { submit, stateOf } = intake()
    await submit({ task: 'x', task_id: 't1', session_id: 's' })
    await submit({ task: 'x', task_id: 't1', session_id: 's' })
    expect((await stateOf(await submit({ task: 'y', session_id: 's' }))).submitted?.previous_task_id).toBe(
      't1',
    )
  })
})

describe('a request whose ids were made up just now', () => {
  const unasked = (): Promise<never> => Promise.reject(new Error('was looked for'))

  it('is accepted without a look at what is there', async () => {
    const { submit } = intake({ journal: { ...memoryJournal(), sessionTail: unasked, find: unasked } })
    expect(await submit({ task: 'x', task_id: 't', session_id: 's', fresh: 'session' })).toEqual({
      task_id: 't',
      session_id: 's',
    })
  })

  it('in a session that is there follows its last task', async () => {
    const { submit, stateOf } = intake({ journal: { ...memoryJournal(), find: unasked } })
    await submit({ task: 'x', task_id: 't1', session_id: 's', fresh: 'session' })
    const second = await submit({ task: 'y', task_id: 't2', session_id: 's', fresh: 'task' })
    expect((await stateOf(second)).submitted?.previous_task_id).toBe('t1')
  })

  it('and were not: the session is a chain all the same, and the task one task', async () => {
    const { submit, stateOf, ports } = intake({ journal: { ...memoryJournal(), find: unasked } })
    await submit({ task: 'x', task_id: 't1', session_id: 's', fresh: 'task' })
    const second = await submit({ task: 'y', task_id: 't2', session_id: 's', fresh: 'session' })
    expect((await stateOf(second)).submitted?.previous_task_id).toBe('t1')
    expect(await submit({ task: 'y', task_id: 't2', session_id: 's', fresh: 'session' })).toEqual(second)
    expect(await refusal(submit({ task: 'z', task_id: 't2', session_id: 's', fresh: 'task' }))).toEqual([
      'conflict',
      [],
    ])
    expect(await ports.journal.read(logOf(second))).toHaveLength(1)
  })

  test.each<[string, unknown]>([
    ['no ids', { task: 'x', fresh: 'task' }],
    ['no session', { task: 'x', task_id: 't', fresh: 'session' }],
    ['no task id', { task: 'x', session_id: 's', fresh: 'task' }],
    ['another word', { task: 'x', task_id: 't', session_id: 's', fresh: true }],
  ])('of a wrong shape: %s', (_, request) => {
    expect(submitRequest.safeParse(request).error?.issues.map((issue) => issue.path.join('.'))).toEqual([
      'fresh',
    ])
  })
})

describe('a request that is refused stores nothing', () => {
  test.each<[string, SubmitRequest, string, string]>([
    ['a source of the runtime (D-68)', { task: 'x', source: 'team:team_1' }, 'invalid_arguments', 'source'],
    ['an empty task', { task: '' }, 'invalid_arguments', 'task'],
    ['a task of spaces', { task: ' \n\t ' }, 'invalid_arguments', 'task'],
    [
      'a folder that does not exist',
      { task: 'x', workspace: '/nowhere/at/all' },
      'workspace_missing',
      'workspace',
    ],
    ['a relative folder', { task: 'x', workspace: 'src' }, 'workspace_missing', 'workspace'],
    ['an empty folder name', { task: 'x', workspace: '' }, 'workspace_missing', 'workspace'],
    ['an unknown skill', { task: 'x', skill: 'nope' }, 'unknown_skill', 'skill'],
    ['a skill of another case', { task: 'x', skill: 'Folder-Report' }, 'unknown_skill', 'skill'],
    ['an empty skill', { task: 'x', skill: '' }, 'unknown_skill', 'skill'],
    [
      'an unknown skill among those that it may have',
      { task: 'x', skills: ['folder-report', 'nope'] },
      'unknown_skill',
      'skills.1',
    ],
    [
      'a skill that it may not have',
      { task: 'x', skill: 'folder-report', skills: [] },
      'unknown_skill',
      'skill',
    ],
    ['a model that has no name', { task: 'x', model: 'dep' }, 'invalid_arguments', 'model'],
  ])('%s', async (_, request, code, path) => {
    const { submit, ports } = intake()
    expect(await refusal(submit({ ...request, task_id: 't', session_id: 's' }))).toEqual([code, [path]])
    expect(await ports.journal.last(logOf({ task_id: 't', session_id: 's' }))).toBeNull()
    expect(await ports.journal.sessionTail('local', 's' as never)).toEqual({ task: null, revision: 0 })
  })

  test.each(['file.txt', 'file.txt/deeper', 'dangling'])(
    'a workspace that is no folder: %s',
    async (name) => {
      const { submit } = intake()
      expect(await refusal(submit({ task: 'x', workspace: join(folder, name) }))).toEqual([
        'workspace_missing',
        ['workspace'],
      ])
    },
  )

  it('names the skills there are', async () => {
    await expect(intake().submit({ task: 'x', skill: 'nope' })).rejects.toThrow('folder-report')
    await expect(intake({ skillNames: [] }).submit({ task: 'x', skill: 'nope' })).rejects.toThrow(
      'none is loaded',
    )
  })

  test.each<[string, unknown, string]>([
    ['no task', {}, 'task'],
    ['a task that is no text', { task: 5 }, 'task'],
    ['a task of more than a million characters', { task: 'x'.repeat(1_000_001) }, 'task'],
    ['an empty id', { task: 'x', task_id: '' }, 'task_id'],
    ['an id with a line break', { task: 'x', task_id: 'a\nb' }, 'task_id'],
    ['an id with half a character', { task: 'x', session_id: '\ud800' }, 'session_id'],
    ['an id that is too long', { task: 'x', session_id: 'x'.repeat(129) }, 'session_id'],
    ['an id in spaces', { task: 'x', session_id: ' s ' }, 'session_id'],
    ['an unknown field', { task: 'x', priority: 1 }, ''],
    ['null', null, ''],
    ['a list', [], ''],
  ])('of a wrong shape: %s', (_, request, path) => {
    const parsed = submitRequest.safeParse(request)
    expect(parsed.error?.issues.map((issue) => issue.path.join('.'))).toEqual([path])
  })
})
