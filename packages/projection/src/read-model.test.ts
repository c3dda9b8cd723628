import type { QueryOutput } from '@beaver/contracts'
import { event } from '@beaver/core'
import { foldTask } from '@beaver/core/fold'
import { openRecord, splitBatch, type RecordedEvent } from '@beaver/core/journal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { approvalTask } from '../test/approval-fixture.ts'
import {
  answer as said,
  newStream,
  runCompleted,
  runStarted,
  singleTask,
  submitted,
  teamTask,
  tempFolder,
  toolResult,
  toolStarted,
  userMessage,
  workflowTask,
} from '../test/journal-fixture.ts'
import type { JournalMessage } from './fold/intake.ts'
import { answer } from './queries/queries.ts'
import { openReadModel, type ReadModel } from './read-model.ts'

const identity = 'BEAVER_main@2026-01-01T00:00:00Z'

function scene(): ReturnType<typeof newStream> {
  const stream = newStream()
  teamTask(stream.log('task-team'))
  singleTask(stream.log('task-one', { session: '会话' }))
  workflowTask(stream.log('task-flow'))
  approvalTask(stream.log('task-asks'))
  approvalTask(stream.log('task-waits'), { open: true })
  return stream
}

function openOn(stream: ReturnType<typeof newStream>, file = ':memory:'): ReadModel {
  const model = openReadModel(file, { readBlob: stream.readBlob })
  model.begin(identity)
  return model
}

const eventsOf = (messages: readonly JournalMessage[]): RecordedEvent[] =>
  messages.flatMap((message) => splitBatch(message.payload).map((record) => openRecord(record)))

describe('rows', () => {
  test('of tasks that a batch changed are told with it, as the query shows them', async () => {
    const stream = scene()
    using model = openOn(stream)
    const half = Math.floor(stream.messages.length / 2)
    for (const messages of [stream.messages.slice(0, half), stream.messages.slice(half)]) {
      const { changed } = await model.apply(messages)
      const ids = messages.flatMap(({ log }) => (log === null ? [] : [log.task]))
      expect(changed.map(({ task_id: id }) => id).toSorted()).toEqual([...new Set(ids)].toSorted())
      const { tasks } = answer(model.sql, 'tasks', { limit: 100 }) as QueryOutput<'tasks'>
      for (const each of changed) {
        const { task_id, session_id, user_id, status } = each
        expect(tasks).toContainEqual(expect.objectContaining({ task_id, session_id, user_id, status }))
        expect(model.sql.get('select last_taskseq from tasks where task_id = ?', [task_id])).toEqual({
          last_taskseq: each.taskseq,
        })
      }
    }
    expect((await model.apply(stream.messages)).changed).toEqual([])
  })

  test('agree with the fold that daemons use', async () => {
    const stream = scene()
    using model = openOn(stream)
    await model.apply(stream.messages)
    for (const task of ['task-team', 'task-one', 'task-flow', 'task-asks', 'task-waits']) {
      const state = foldTask(eventsOf(stream.messages.filter((message) => message.log?.task === task)))
      const row = model.sql.get<{ task_key: number }>(
        'select task_key, status, daemon, root_run_id from tasks where task_id = ?',
        [task],
      )!
      expect(row).toMatchObject({ status: state.status, daemon: state.owner, root_run_id: state.rootRunId })
      for (const [runId, run] of state.runs) {
        const stored = model.sql.get('select * from runs where task_key = ? and run_id = ?', [
          row.task_key,
          runId,
        ])
        expect(stored).toMatchObject({
          status: run.status,
          output: run.outputSeq === 0 ? null : run.outputText,
          output_taskseq: run.outputSeq === 0 ? null : run.outputSeq,
          input_tokens: run.usage.input_tokens,
          provider: run.provider,
          model: run.model,
          finish_reason: run.finishReason,
          execution_mode: run.executionMode,
          failure_class: run.failure?.class ?? null,
        })
      }
      for (const [teamRunId, team] of state.teams) {
        const nodes = model.sql.all<{ input: string | null; depends_on: string }>(
          'select node_id, kind, depends_on, status, run_id, cause_node_id, input, output, cancel_reason from team_nodes where team_run_id = ? order by declared_index',
          [teamRunId],
        )
        const parsed = nodes.map((each) => ({
          ...each,
          depends_on: JSON.parse(each.depends_on) as unknown,
          input: JSON.parse(each.input ?? 'null') as unknown,
        }))
        expect(parsed).toEqual(
          team.graph.nodes.map(({ node_id, kind, depends_on }) => {
            const { status, runId, causeNodeId, input, output, cancelReason } = team.nodes.get(node_id)!
            return {
              node_id,
              kind,
              depends_on,
              status,
              run_id: runId,
              cause_node_id: causeNodeId,
              input,
              output,
              cancel_reason: cancelReason,
            }
          }),
        )
        const kept = model.sql.one<{ outputs: string; shared_state: string | null }>(
          'select nodes, outputs, output, shared_state from teams where team_run_id = ?',
          [teamRunId],
        )
        expect({
          ...kept,
          outputs: JSON.parse(kept.outputs) as unknown,
          shared_state: JSON.parse(kept.shared_state ?? '{}') as unknown,
        }).toEqual({
          nodes: team.graph.nodes.length,
          outputs: team.graph.outputs,
          output: team.graph.output,
          shared_state: team.sharedState,
        })
      }
    }
  })

  test('follow a run through its states as its calls open and close', async () => {
    const stream = newStream()
    const log = stream.log('task-1')
    using model = openOn(stream)
    const statusAfter = async (...events: Parameters<typeof log.write>): Promise<unknown> => {
      await model.apply([log.write(...events)])
      return model.sql.get<{ status: string }>('select status from runs')?.status
    }
    const calls = ['a', 'b'].map((id) => ({ id, name: 'read_file', arguments: '{}' }))
    expect(await statusAfter(submitted(log.log), runStarted('r'))).toBe('assembling')
    expect(await statusAfter(userMessage('r', 'go'))).toBe('thinking')
    expect(await statusAfter(said('r', null, calls))).toBe('acting')
    expect(await statusAfter(toolStarted('r', 'a'), toolResult('r', 'a', 'x'))).toBe('acting')
    expect(await statusAfter(toolResult('r', 'b', 'y'))).toBe('thinking')
    expect(await statusAfter(said('r', 'done'))).toBe('finalizing')
    expect(await statusAfter(runCompleted('r'))).toBe('completed')
  })

  test('keep the calls of two answers apart when the provider uses an id again', async () => {
    const stream = newStream()
    const log = stream.log('task-1')
    const call = (path: string): { id: string; name: string; arguments: string }[] => [
      { id: 'call_0', name: 'read_file', arguments: path },
    ]
    log.write(
      submitted(log.log),
      runStarted('r'),
      said('r', null, call('a')),
      toolStarted('r', 'call_0'),
      toolResult('r', 'call_0', 'A'),
    )
    log.write(
      said('r', null, call('b')),
      toolStarted('r', 'call_0'),
      toolResult('r', 'call_0', 'B', { error: 'tool_crash' }),
    )
    using model = openOn(stream)
    await model.apply(stream.messages)
    expect(
      model.sql.all(
        'select arguments, result, success, error, starts from tool_calls order by asked_taskseq',
      ),
    ).toEqual([
      { arguments: 'a', result: 'A', success: 1, error: null, starts: 1 },
      { arguments: 'b', result: 'B', success: 0, error: 'tool_crash', starts: 1 },
    ])
  })

  test('give a result to the newest call of its id, not to an older one that never ended', async () => {
    const stream = newStream()
    const log = stream.log('task-1')
    const call = (path: string): { id: string; name: string; arguments: string }[] => [
      { id: 'call_0', name: 'read_file', arguments: path },
    ]
    log.write(
      submitted(log.log),
      runStarted('r'),
      said('r', null, call('old')),
      said('r', null, call('new')),
      toolResult('r', 'call_0', 'N'),
    )
    using model = openOn(stream)
    await model.apply(stream.messages)
    expect(model.sql.all('select arguments, result from tool_calls order by asked_taskseq')).toEqual([
      { arguments: 'old', result: null },
      { arguments: 'new', result: 'N' },
    ])
  })

  test('show a result nobody asked for', async () => {
    const stream = newStream()
    const log = stream.log('task-1')
    log.write(submitted(log.log), runStarted('r'), toolResult('r', 'ghost', 'boo'))
    using model = openOn(stream)
    await model.apply(stream.messages)
    expect(model.sql.all('select call_id, arguments, result from tool_calls')).toEqual([
      { call_id: 'ghost', arguments: null, result: 'boo' },
    ])
  })

  test('count failed provider calls without tokens', async () => {
    const stream = newStream()
    const log = stream.log('task-1')
    const failure = { class: 'rate_limited', message: 'slow down' } as const
    log.write(
      submitted(log.log),
      runStarted('r'),
      event('provider_call_failed', { failure, tries: 1, retry_in_ms: 500, status: 429 }, 'r'),
      said('r', 'ok'),
    )
    using model = openOn(stream)
    await model.apply(stream.messages)
    expect(
      model.sql.all(
        'select success, failure_class, http_status, retry_in_ms, input_tokens from provider_calls order by taskseq',
      ),
    ).toEqual([
      { success: 0, failure_class: 'rate_limited', http_status: 429, retry_in_ms: 500, input_tokens: null },
      { success: 1, failure_class: null, http_status: null, retry_in_ms: null, input_tokens: 10 },
    ])
    expect(model.sql.get('select input_tokens, calls from tasks')).toEqual({ input_tokens: 10, calls: 1 })
  })

  test('leave a task ended when a daemon claims it once more', async () => {
    const stream = newStream()
    const log = stream.log('task-one')
    singleTask(log)
    log.write(event('task_claimed', { daemon: 'late' }))
    using model = openOn(stream)
    await model.apply(stream.messages)
    expect(model.sql.get('select status, claims from tasks')).toEqual({ status: 'completed', claims: 2 })
  })

  test('keep two tasks of one id in two sessions apart', async () => {
    const stream = newStream()
    singleTask(stream.log('same', { session: 'a' }), { final: 'first' })
    singleTask(stream.log('same', { session: 'b' }), { final: 'second' })
    using model = openOn(stream)
    expect(await model.apply(stream.messages)).toMatchObject({ findings: 0 })
    expect(model.sql.all('select session_id, final_output from tasks order by task_key')).toEqual([
      { session_id: 'a', final_output: 'first' },
      { session_id: 'b', final_output: 'second' },
    ])
  })
})

describe('exactly once', () => {
  test('counts every event once, however messages are batched and replayed', async () => {
    const stream = scene()
    using whole = openOn(stream)
    await whole.apply(stream.messages)
    const expected = [...whole.dump()].join('\n')
    const last = stream.messages.length
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ from: fc.nat(last), size: fc.integer({ min: 0, max: last }) }), {
          maxLength: 12,
        }),
        async (slices) => {
          using model = openOn(stream)
          let reached = 0
          for (const { from, size } of [...slices, { from: 0, size: last }]) {
            const begin = Math.min(from, reached)
            await model.apply(stream.messages.slice(begin, begin + size))
            reached = Math.max(reached, begin + size)
          }
          expect([...model.dump()].join('\n')).toBe(expected)
        },
      ),
      { numRuns: 40 },
    )
  })

  test('rebuilds the same rows in another file, byte for byte', async () => {
    const stream = scene()
    using folder = tempFolder()
    const digests: string[] = []
    for (const name of ['a.db', 'b.db']) {
      using model = openOn(stream, folder.file(name))
      for (const message of stream.messages) await model.apply([message])
      digests.push(model.digest())
    }
    expect(digests[0]).toBe(digests[1])
  })

  test('goes on from the stored position after it was closed', async () => {
    const stream = scene()
    using folder = tempFolder()
    const file = folder.file('read.db')
    {
      await using model = openOn(stream, file)
      await model.apply(stream.messages.slice(0, 5))
    }
    await using model = openReadModel(file, { readBlob: stream.readBlob })
    expect(model.begin(identity)).toBe(stream.messages[4]?.sequence)
    expect(await model.apply(stream.messages)).toMatchObject({
      messages: stream.messages.length - 5,
      findings: 0,
    })
    expect(model.sql.get('select sequence, events from checkpoint')).toEqual({
      sequence: stream.messages.at(-1)?.sequence,
      events: 116,
    })
  })

  test('leaves nothing of a batch that fails half way, and applies it whole the next time', async () => {
    const stream = scene()
    using whole = openOn(stream)
    await whole.apply(stream.messages)
    using model = openOn(stream)
    model.sql.run(
      "create trigger full before insert on events when new.sequence > 20 begin select raise(abort, 'disk full'); end",
    )
    await expect(model.apply(stream.messages)).rejects.toThrow('disk full')
    expect(
      model.sql.get('select sequence, events, (select count(*) from tasks) as tasks from checkpoint'),
    ).toEqual({ sequence: 0, events: 0, tasks: 0 })
    model.sql.run('drop trigger full')
    await model.apply(stream.messages)
    expect(model.digest()).toBe(whole.digest())
  })

  test('refuses messages that come in the wrong order, and applies none of them', async () => {
    const stream = scene()
    using model = openOn(stream)
    await expect(model.apply([stream.messages[1]!, stream.messages[0]!])).rejects.toMatchObject({
      code: 'internal',
    })
    expect(model.sql.get('select sequence from checkpoint')).toEqual({ sequence: 0 })
  })

  test('refuses a second batch while one is being applied', async () => {
    const stream = scene()
    using model = openOn(stream)
    const first = model.apply(stream.messages)
    await expect(model.apply(stream.messages)).rejects.toMatchObject({ code: 'internal' })
    expect(await first).toMatchObject({ events: 116 })
  })
})

describe('the stream', () => {
  test('is refused when it was made anew, with what to do', async () => {
    using folder = tempFolder()
    const file = folder.file('read.db')
    openOn(newStream(), file).close()
    using model = openReadModel(file, { readBlob: newStream().readBlob })
    expect(() => model.begin('BEAVER_main@2026-02-02T00:00:00Z')).toThrow(
      expect.objectContaining({
        code: 'stream_recreated',
        message: expect.stringContaining(`delete ${file}`),
      }),
    )
  })

  test('must be named before anything is applied', async () => {
    using model = openReadModel(':memory:', { readBlob: newStream().readBlob })
    await expect(model.apply([])).rejects.toMatchObject({ code: 'internal' })
  })
})

test('the full-text index agrees with the transcript', async () => {
  const stream = scene()
  using model = openOn(stream)
  await model.apply(stream.messages)
  expect(() =>
    model.sql.run("insert into transcript_fts (transcript_fts, rank) values ('integrity-check', 1)"),
  ).not.toThrow()
})
