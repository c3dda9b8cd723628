// What clients ask of Beaver during a campaign: every kind of task, decisions of a person, cancels, the same
// id again. Each answer is counted as ok, refused (with its code) or unknown. An operation follows from the
// seed; whether its answer comes does not. An id that may have been accepted is checked too.
import { setTimeout as sleep } from 'node:timers/promises'
import { BeaverError } from '@beaver/core'
import type { BeaverClient, SubmitTask } from '@beaver/client'
import type { ExpectedTask } from './check.ts'
import { type Script, taskText, workflowArguments } from './model.ts'
import { operationWeights, type OperationKind } from './plan.ts'
import type { Random } from './random.ts'

export type Answer = 'ok' | 'refused' | 'unknown'

export interface OperationCounts {
  /** By kind: answers, and refusals by code. */
  readonly [kind: string]: Record<Answer, number> & { readonly codes: Record<string, number> }
}

export interface Operations {
  readonly counts: OperationCounts
  readonly expected: ExpectedTask[]
  /** The operations that were begun, by name: a task of one has its name, or that and a number. */
  readonly begun: ReadonlySet<string>
  /** One operation, of a kind the numbers choose. */
  one(random: Random, client: string, number: number): Promise<void>
  submitBad(tool: string, id: string): Promise<void>
  decide(task: string, callId: string, approved: boolean): Promise<void>
}

/** Refusals that say nothing about the request: it may be asked again. */
const unknownCodes = new Set(['timeout', 'no_daemon', 'unreachable', 'internal'])
const workflows: Partial<Record<OperationKind, string>> = {
  sequential: 'SequentialWorkflow',
  concurrent: 'ConcurrentWorkflow',
  mixture: 'MixtureOfAgents',
  rearrange: 'AgentRearrange',
  graph: 'GraphWorkflow',
}
const scripts: Partial<Record<OperationKind, readonly string[]>> = {
  approval: ['careful'],
  memory: ['memory', 'ledger_write'],
  blob: ['ledger_write'],
  stream: ['echo', 'ledger_write'],
}

export function operationsOn(client: BeaverClient): Operations {
  const counts: Record<string, OperationCounts[string]> = {}
  const expected: ExpectedTask[] = []
  const begun = new Set<string>()

  async function counted(kind: string, ask: () => Promise<unknown>): Promise<Answer> {
    const of = (counts[kind] ??= { ok: 0, refused: 0, unknown: 0, codes: {} })
    try {
      await ask()
      of.ok++
      return 'ok'
    } catch (error) {
      const code = error instanceof BeaverError ? error.code : 'internal'
      const answer = unknownCodes.has(code) ? 'unknown' : 'refused'
      of[answer]++
      of.codes[code] = (of.codes[code] ?? 0) + 1
      return answer
    }
  }

  async function submit(
    kind: string,
    request: SubmitTask & { task_id: string },
    anyEnd = false,
  ): Promise<Answer> {
    const answer = await counted(kind, () => client.submit(request))
    expected.push({ task: request.task_id, kind, accepted: answer === 'ok', anyEnd })
    return answer
  }

  async function chain(id: string, random: Random): Promise<void> {
    const links = random.between(2, 4)
    for (let i = 0; i < links; i++) {
      const script = { op: `${id}-${i}`, tools: random.pick([[], ['ledger_write'], ['echo']]) }
      await submit('chain', { task: taskText(script), task_id: script.op, session_id: `session-${id}` })
    }
  }

  /** The same request twice at once: one task. */
  async function sameId(id: string): Promise<void> {
    const request = {
      task: taskText({ op: id, tools: ['ledger_write'] }),
      task_id: id,
      session_id: `session-${id}`,
    }
    const answers = await Promise.all([
      counted('same_id', () => client.submit(request)),
      counted('same_id', () => client.submit(request)),
    ])
    expected.push({ task: id, kind: 'same_id', accepted: answers.includes('ok'), anyEnd: false })
  }

  /** One id in two sessions at once: one of them is refused. */
  async function twoSessions(id: string): Promise<void> {
    const ask = (session: string): Promise<Answer> =>
      counted('two_sessions', () =>
        client.submit({
          task: taskText({ op: id, tools: ['ledger_write'] }),
          task_id: id,
          session_id: `${session}-${id}`,
        }),
      )
    const answers = await Promise.all([ask('one'), ask('two')])
    expected.push({ task: id, kind: 'two_sessions', accepted: answers.includes('ok'), anyEnd: false })
  }

  async function cancelled(id: string, random: Random): Promise<void> {
    const pauseMs = random.between(0, 600)
    if (
      (await submit(
        'submit_to_cancel',
        { task: taskText({ op: id, tools: ['ledger_touch', 'ledger_write'] }), task_id: id },
        true,
      )) !== 'ok'
    )
      return
    await sleep(pauseMs)
    await counted('cancel', () => client.cancel(id, 'the campaign'))
  }

  async function streamed(id: string): Promise<void> {
    const stop = new AbortController()
    const listening = (async () => {
      for await (const delta of client.deltas(id, { signal: stop.signal })) if (delta.offset > 1e9) return
    })().catch(() => {})
    const script: Script = { op: id, tools: scripts.stream ?? [], chars: 2_000 }
    await submit('stream', { task: taskText(script), task_id: id, stream: true })
    void sleep(3_000).then(() => stop.abort())
    await Promise.race([listening, sleep(50)])
  }

  async function one(random: Random, name: string, number: number): Promise<void> {
    const kind = random.weighted<OperationKind>(operationWeights)
    const id = `${name}-${number}-${kind.replaceAll('_', '-')}`
    begun.add(id)
    const workflow = workflows[kind]
    if (workflow !== undefined) {
      const task = taskText({ op: id, tools: random.pick([[], ['ledger_write'], ['ledger_touch']]) })
      const args = workflowArguments(workflow, task, random.between(2, 5))
      return void (await submit(kind, { workflow: { name: workflow, arguments: args }, task_id: id }))
    }
    switch (kind) {
      case 'chain':
        return chain(id, random)
      case 'same_id':
        return sameId(id)
      case 'two_sessions':
        return twoSessions(id)
      case 'cancel':
        return cancelled(id, random)
      case 'stream':
        return streamed(id)
      case 'team_by_root': {
        const script = {
          op: id,
          tools: ['ledger_write'],
          workflow: random.pick(Object.values(workflows)),
          agents: random.between(2, 4),
        }
        return void (await submit(kind, { task: taskText(script), task_id: id }))
      }
      default: {
        const tools =
          scripts[kind] ??
          random.pick([
            ['ledger_write'],
            ['echo', 'ledger_write'],
            ['ledger_touch+ledger_write'],
            ['ledger_write', 'ledger_write'],
          ])
        const script = {
          op: id,
          tools,
          ...(kind === 'blob' ? { chars: random.between(70_000, 150_000) } : {}),
        }
        return void (await submit(kind, { task: taskText(script), task_id: id }))
      }
    }
  }

  return {
    counts,
    expected,
    begun,
    one,
    submitBad: async (tool, id) =>
      void (await submit('bad_tool', { task: taskText({ op: id, tools: [tool] }), task_id: id }, true)),
    async decide(task, callId, approved) {
      for (let tries = 0; tries < 20; tries++) {
        const answer = await counted('decide', () => client.decide(task, { callId, approved }))
        if (answer !== 'unknown') return
        await sleep(300)
      }
    },
  }
}
