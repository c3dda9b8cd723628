// The official client of A2A against the gateway on a real port, in front of a real daemon.
import { Role, type SendMessageRequest, type StreamResponse, TaskState } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import { until } from '@beaver/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  a2aClient,
  type AgentPlace,
  all,
  answerIn,
  freshId,
  held,
  message,
  now,
  ofTask,
  reasonOf,
  sent,
  textOf,
  words,
} from '../support/a2a-agent.ts'
import { say } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only } from '../support/system.ts'

let scene: ProtocolScene
beforeAll(async () => void (scene = await keptScene()))

type Who = keyof ProtocolScene['tokens']
const clientOf = (who?: Who, place?: AgentPlace): Promise<Client> => a2aClient(scene, who, place)

describe('a card', () => {
  it('leads a client to the default agent, and says nothing of the others to everybody', async () => {
    const answer = await fetch(`${scene.gateway.info.url}/.well-known/agent-card.json`)
    const card = (await answer.json()) as Record<string, unknown>
    expect(card).toMatchObject({
      name: 'Beaver',
      supportedInterfaces: [
        { url: `${scene.gateway.info.url}/a2a/beaver`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      ],
      capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: true },
      securityRequirements: [{ schemes: { token: {} } }],
    })
    expect(JSON.stringify(card)).not.toMatch(/clerk|sum_up/)
    const again = await fetch(`${scene.gateway.info.url}/.well-known/agent-card.json`, {
      headers: { 'if-none-match': answer.headers.get('etag') ?? '' },
    })
    expect([again.status, answer.headers.get('cache-control')]).toEqual([304, 'max-age=300'])
  })

  it('exists for each profile and each workflow, for those who have a token', async () => {
    const client = await clientOf('reader', { agent: 'workflow:sum_up' })
    expect(await client.getAgentCard()).toMatchObject({ name: 'workflow:sum_up' })
    await expect(clientOf('reader', { agent: 'nobody' })).rejects.toThrow('404')
    expect((await fetch(`${scene.gateway.info.url}/a2a/clerk/.well-known/agent-card.json`)).status).toBe(401)
  })

  it('names the other agents to those who have a token', async () => {
    const card = await (await clientOf('writer')).getAgentCard()
    expect(card.skills.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['ask', 'agent:clerk', 'agent:workflow:sum_up']),
    )
    expect(card.skills.find(({ id }) => id === 'agent:clerk')?.description).toContain(
      '/a2a/clerk/.well-known/agent-card.json',
    )
  })

  it('has the URL by which it was asked for', async () => {
    const answer = await fetch(`${scene.gateway.info.url}/.well-known/agent-card.json`, {
      headers: { 'x-forwarded-proto': 'https' },
    })
    expect(await answer.text()).toContain(`"https://${new URL(scene.gateway.info.url).host}/a2a/beaver"`)
  })
})

describe('SendMessage', () => {
  it('waits for the answer, which is an artifact of the task', async () => {
    const task = await sent(await clientOf('ann'), message('hello'))
    expect(task).toMatchObject({ status: { state: TaskState.TASK_STATE_COMPLETED } })
    expect([answerIn(task), task.history.map(({ parts }) => textOf(parts))]).toEqual([
      'You said: hello',
      ['hello'],
    ])
    const [submitted] = only(await scene.system.events(task.id), 'task_submitted')
    expect(submitted?.data).toMatchObject({
      session_id: task.contextId,
      request: { text: 'hello', user_id: 'ann', source: 'a2a:ann' },
    })
  })

  it('goes on with a conversation by its context', async () => {
    const client = await clientOf('ann')
    const first = await sent(client, message('My name is Ann.'))
    const second = await sent(client, message('all', { contextId: first.contextId }))
    expect(second.contextId).toBe(first.contextId)
    expect(answerIn(second)).toContain(
      'user: My name is Ann. | assistant: You said: My name is Ann. | user: all',
    )
  })

  it('is one task, also if it comes twice at once and once more later', async () => {
    const client = await clientOf('ann')
    const request = message('wait a2c_twice')
    const both = [sent(client, request), sent(client, request)]
    const early = await sent(client, {
      ...request,
      configuration: { ...message('').configuration, ...now } as SendMessageRequest['configuration'],
    })
    scene.answer('a2c_twice', say('once'))
    const tasks = [...(await Promise.all(both)), await sent(client, request), early]
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1)
    expect(tasks.slice(0, 3).map(answerIn)).toEqual(['once', 'once', 'once'])
    expect(scene.system.provider.about('wait a2c_twice').length).toBe(1)
    expect(
      await reasonOf(client.sendMessage(message('other', { messageId: request.message?.messageId ?? '' }))),
    ).toMatch(/^RequestMalformedError: Another request/)
  })

  it('asks a profile, and a workflow by its text or its arguments', async () => {
    const clerk = await sent(await clientOf('ann', { agent: 'clerk' }), message('system'))
    expect(answerIn(clerk)).toContain('You are the clerk.')
    const workflow = await clientOf('ann', { agent: 'workflow:sum_up' })
    for (const said of ['a long text', { text: 'a long text' }]) {
      const task = await sent(workflow, message(said))
      expect([task.status?.state, answerIn(task)]).toEqual([
        TaskState.TASK_STATE_COMPLETED,
        expect.stringContaining('a long text'),
      ])
    }
    const two = await clientOf('ann', { agent: 'workflow:two' })
    expect(await reasonOf(two.sendMessage(message('one')))).toContain('needs more than one text')
  })

  it('tells why a task failed', async () => {
    const task = await sent(await clientOf(), message('fail'))
    expect([task.status?.state, task.artifacts]).toEqual([TaskState.TASK_STATE_FAILED, []])
    expect(textOf(task.status?.message?.parts)).toContain('no such model')
  })
})

describe('SendStreamingMessage', () => {
  it('tells the task, the answer in pieces, and the end', async () => {
    const updates = await all((await clientOf('writer')).sendMessageStream(message('pieces')))
    expect(words(updates)[0]).toBe('task SUBMITTED')
    expect(words(updates).at(-1)).toBe('COMPLETED')
    expect(held(updates)).toBe('Word by word.')
    expect(
      words(updates)
        .filter((line) => /^[+=]/.test(line))
        .at(-1),
    ).toMatch(/\.$/)
  })

  it('tells what the agent says and does before its answer as messages', async () => {
    const updates = await all((await clientOf()).sendMessageStream(message('say and look')))
    expect(words(updates).filter((line) => !/^[+=]/.test(line))).toEqual([
      'task SUBMITTED',
      'WORKING',
      'WORKING: I look.',
      'WORKING: Calls list_files.',
      'COMPLETED',
    ])
    expect(held(updates)).toBe('There are files.')
  })
})

describe('a task that goes on', () => {
  it('is shown, followed by any number of readers from where it is, and answered', async () => {
    const client = await clientOf('ann')
    const { id } = await sent(client, message('wait a2c_shown', {}, now))
    expect((await client.getTask({ tenant: '', id })).status?.state).toBeLessThanOrEqual(
      TaskState.TASK_STATE_WORKING,
    )
    const streams = [client.resubscribeTask(ofTask(id)), client.resubscribeTask(ofTask(id))]
    const firsts = await Promise.all(streams.map((stream) => stream.next()))
    expect(firsts.map(({ value }) => (value as StreamResponse).payload?.$case)).toEqual(['task', 'task'])
    scene.answer('a2c_shown', say('shown'))
    for (const rest of await Promise.all(streams.map(all)))
      expect([held(rest), words(rest).at(-1)]).toEqual(['shown', 'COMPLETED'])
    expect(await reasonOf(client.resubscribeTask(ofTask(id)).next())).toMatch(/^UnsupportedOperationError/)
  })

  it('goes on when its reader leaves', async () => {
    const client = await clientOf('ann')
    const stream = client.sendMessageStream(message('wait a2c_left'))
    const { value } = (await stream.next()) as { value: StreamResponse }
    const id = value.payload?.$case === 'task' ? value.payload.value.id : ''
    await until('the model is asked', () => scene.system.provider.about('wait a2c_left').length > 0)
    await stream.return()
    scene.answer('a2c_left', say('still here'))
    await scene.system.ended(id)
    expect(answerIn(await client.getTask({ tenant: '', id }))).toBe('still here')
  })

  it('is cancelled, and its readers are told', async () => {
    const client = await clientOf('ann')
    const { id } = await sent(client, message('wait a2c_cancelled', {}, now))
    const followed = all(client.resubscribeTask(ofTask(id)))
    await until('the model is asked', () => scene.system.provider.about('wait a2c_cancelled').length > 0)
    expect((await client.cancelTask(ofTask(id))).status?.state).toBe(TaskState.TASK_STATE_CANCELED)
    expect(words(await followed).at(-1)).toMatch(/^CANCELED/)
    expect((await client.cancelTask(ofTask(id))).status?.state).toBe(TaskState.TASK_STATE_CANCELED)
    const done = await sent(client, message('done'))
    expect(await reasonOf(client.cancelTask(ofTask(done.id)))).toMatch(/^TaskNotCancelableError/)
    expect(await reasonOf(client.sendMessage(message('more', { taskId: done.id })))).toMatch(
      /^UnsupportedOperationError: .* has ended and takes no messages/,
    )
  })

  it('is steered by a message, once', async () => {
    const client = await clientOf('ann')
    const { id } = await sent(client, message('wait a2c_steered', {}, now))
    await until('the model is asked', () => scene.system.provider.about('wait a2c_steered').length > 0)
    const steering = message('Be brief.', { taskId: id }, now)
    await client.sendMessage(steering)
    await client.sendMessage(steering)
    scene.answer('a2c_steered', say('so'))
    await scene.system.ended(id)
    expect(only(await scene.system.events(id), 'task_steer_requested').map(({ data }) => data.text)).toEqual([
      'Be brief.',
    ])
    expect(
      (await client.getTask({ tenant: '', id })).history.map(({ role, parts }) => [role, textOf(parts)]),
    ).toContainEqual([Role.ROLE_USER, 'Be brief.'])
    expect(await reasonOf(client.sendMessage(message('x', { taskId: id, contextId: 'another' })))).toMatch(
      /^RequestMalformedError/,
    )
  })
})

describe('a call that waits for a person', () => {
  it('is an authorization that is required, and is approved by a message of somebody who may', async () => {
    const writer = await clientOf('writer')
    const task = await sent(writer, message('write one'))
    expect(task.status?.state).toBe(TaskState.TASK_STATE_AUTH_REQUIRED)
    expect(task.status?.message?.parts.map(({ content }) => content?.$case)).toEqual(['text'])
    const admin = await clientOf()
    const { status } = await admin.getTask({ tenant: '', id: task.id })
    const data = status?.message?.parts[1]?.content
    const [call] =
      data?.$case === 'data'
        ? (data.value as { calls: { call_id: string; call_hash: string; tool: string; subject: string }[] })
            .calls
        : []
    expect(call).toMatchObject({ tool: 'write_file', subject: 'one.txt' })
    const decision = { call_id: call?.call_id ?? '', call_hash: call?.call_hash ?? '', approved: true }
    const followed = all(admin.resubscribeTask(ofTask(task.id)))
    expect(await reasonOf(writer.sendMessage(message(decision, { taskId: task.id })))).toContain(
      'does not have the role approve',
    )
    expect(
      await reasonOf(admin.sendMessage(message({ ...decision, call_hash: 'other' }, { taskId: task.id }))),
    ).toMatch(/^UnsupportedOperationError/)
    expect(
      await reasonOf(admin.sendMessage(message({ ...decision, call_id: 'nope' }, { taskId: task.id }))),
    ).toMatch(/^RequestMalformedError: No call nope/)
    // What names the call and is no decision is no text for the agent, either.
    expect(
      await reasonOf(admin.sendMessage(message({ ...decision, edited: {} }, { taskId: task.id }))),
    ).toMatch(/names a call, but is neither a decision/)
    expect(
      await reasonOf(
        admin.sendMessage(message({ ...decision, arguments: { path: 7 } }, { taskId: task.id })),
      ),
    ).toMatch(/^RequestMalformedError/)
    const changed = { ...decision, arguments: { path: 'one.txt', content: 'changed' } }
    expect(answerIn(await sent(admin, message(changed, { taskId: task.id })))).toContain('So: ')
    const events = await scene.system.events(task.id)
    expect(JSON.parse(only(events, 'approval_granted')[0]?.data.arguments ?? '')).toEqual(changed.arguments)
    expect(only(events, 'task_steer_requested')).toEqual([])
    expect(words(await followed).map((line) => line.split(':')[0])).toEqual(
      expect.arrayContaining(['task AUTH_REQUIRED', 'WORKING', 'COMPLETED']),
    )
  })

  it('may be denied, with a reason that the model reads', async () => {
    const ann = await clientOf('ann')
    const task = await sent(ann, message('write two'))
    const data = task.status?.message?.parts[1]?.content
    const [call] = data?.$case === 'data' ? (data.value as { calls: { call_id: string }[] }).calls : []
    const denied = await sent(
      ann,
      message({ call_id: call?.call_id ?? '', approved: false, reason: 'not today' }, { taskId: task.id }),
    )
    expect([denied.status?.state, answerIn(denied)]).toEqual([
      TaskState.TASK_STATE_COMPLETED,
      expect.stringContaining('not today'),
    ])
  })
})

describe('ListTasks', () => {
  it('lists the tasks of the agent and of the user, in pages', async () => {
    const client = await clientOf('bob')
    const contextId = `list-${freshId()}`
    const made = [
      await sent(client, message('one', { contextId })),
      await sent(client, message('two', { contextId })),
      await sent(client, message('fail', { contextId })),
    ]
    const list = (over: object = {}) =>
      client.listTasks({
        tenant: '',
        contextId,
        status: TaskState.TASK_STATE_UNSPECIFIED,
        pageToken: '',
        statusTimestampAfter: undefined,
        ...over,
      })
    const every = await until('the read model has them', async () => {
      const page = await list()
      return page.tasks.length === 3 && page.tasks
    })
    expect(every.map(({ id }) => id)).toEqual(made.map(({ id }) => id).toReversed())
    expect(every.map(({ artifacts }) => artifacts)).toEqual([[], [], []])
    expect(
      (await list({ status: TaskState.TASK_STATE_FAILED, includeArtifacts: true })).tasks.map(({ id }) => id),
    ).toEqual([made[2]?.id])
    const first = await list({ pageSize: 2 })
    const second = await list({ pageSize: 2, pageToken: first.nextPageToken })
    expect([
      first.tasks.length,
      first.totalSize,
      second.tasks.map(({ id }) => id),
      second.nextPageToken,
      second.totalSize,
    ]).toEqual([2, 3, [made[0]?.id], '', 3])
    const ann = await clientOf('ann')
    expect(
      (
        await ann.listTasks({
          tenant: '',
          contextId,
          status: TaskState.TASK_STATE_UNSPECIFIED,
          pageToken: '',
          statusTimestampAfter: undefined,
        })
      ).tasks,
    ).toEqual([])
  })
})
