// Answers of a type: a task of a program that embeds Beaver, a task of a client, an agent of a workflow and
// the members of a team, through a real daemon. The types are checked by the compiler.
import { AgentTeam } from '@beaver/client'
import { type AgentService, UnfitOutputError } from '@beaver/service'
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { say, type SeenRequest, use } from '../support/fake-provider.ts'
import { type TestServer, testServer } from '../support/nats.ts'
import { type TestServices, testServices } from '../support/service.ts'

let server: TestServer
let kit: TestServices
let service: AgentService
const secret = `sk-canary-${'aA0bB1cC2'.repeat(4)}`
beforeAll(async () => {
  server = await testServer()
  kit = await testServices(server)
  service = kit.service({ apiKey: secret })
  await service.start()
})
afterAll(async () => {
  await kit[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const report = z.object({
  total: z.number(),
  notes: z.array(z.string()).default([]),
  at: z.iso.date().transform((day) => Number(day.slice(0, 4))),
})
const wire = { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] }
const isWorker = ({ text }: SeenRequest): boolean => text.includes('<instruction ')

describe('a program that embeds Beaver', () => {
  it('gets a value of its type, with its defaults and transforms', async () => {
    kit.provider.answerBy(() => say('{"total": 3, "at": "2026-11-26"}'))
    const result = await service.submitDirect('Report.', { output: report })
    expectTypeOf(result.output).toEqualTypeOf<{ total: number; notes: string[]; at: number } | undefined>()
    expect([result.status, result.output]).toEqual(['completed', { total: 3, notes: [], at: 2026 }])
    expect(result.output_text).toBe('{"at":"2026-11-26","total":3}')

    const { output } = await service.client
      .run({ task: 'Report.', output: z.enum(['yes', 'no']) })
      .catch(() => ({ output: undefined }))
    expectTypeOf(output).toEqualTypeOf<'yes' | 'no' | undefined>()

    const untyped = await service.submitDirect('Report.')
    expectTypeOf(untyped.output).not.toBeAny()
    expect(untyped).not.toHaveProperty('output')

    // A workflow without a root agent has no answer of its own to give a form.
    const agents = [{ name: 'a', instruction: 'Count.', output_schema: wire }]
    await expect(
      service.submitDirect(
        { workflow: 'SequentialWorkflow', arguments: { task: 'Count.', agents } },
        { output: report },
      ),
    ).rejects.toMatchObject({
      code: 'invalid_arguments',
    })
    // What no JSON Schema can say is refused before anything is stored.
    await expect(
      service.submitDirect('Report.', {
        output: z.object({ f: z.function() }) as unknown as z.ZodType<object>,
      }),
    ).rejects.toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringContaining('cannot be described by a JSON Schema'),
    })
  })

  it('has the answer repaired once, and is told if it never fits', async () => {
    kit.provider.answerBy(({ messages }) =>
      say(
        messages.at(-1)?.content?.includes('does not fit') === true
          ? '{"total":4,"at":"2026-01-01"}'
          : 'Four.',
      ),
    )
    expect((await service.submitDirect('Report.', { output: report })).output).toEqual({
      total: 4,
      notes: [],
      at: 2026,
    })
    kit.provider.answerBy(() => say('{"total":"four"}'))
    const failed = await service.submitDirect('Report.', { output: report })
    // What was paid for is there, and is no answer.
    expect(failed).toMatchObject({
      status: 'failed',
      failure: { class: 'output_invalid' },
      output_text: '',
      unfit_output: '{"total":"four"}',
    })
    expect(await service.client.run({ task: 'Report.', output: report })).toMatchObject({
      status: 'failed',
      final_output: '',
      unfit_output: '{"total":"four"}',
    })
  })

  it('keeps an answer that only its own check refuses', async () => {
    const even = z.object({ list: z.array(z.number().refine((n) => n % 2 === 0, 'must be even')) })
    kit.provider.answerBy(() => say('{ "list": [2, 3] }'))
    const refused = {
      code: 'output_invalid',
      output_text: '{"list":[2,3]}',
      output: { list: [2, 3] },
      problems: [{ path: 'output.list.1', message: 'must be even' }],
    }
    const error: unknown = await service
      .submitDirect('Report.', { output: even })
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject(refused)
    expect(error).toBeInstanceOf(UnfitOutputError)
    // The task is in the journal with everything that was paid for.
    const { status, output } = await service.result((error as UnfitOutputError).task_id)
    expect([status, output]).toEqual(['completed', { list: [2, 3] }])

    await expect(
      service.client.run({ task: 'Report.', output: even, task_id: 'even' }),
    ).rejects.toMatchObject({ ...refused, task_id: 'even' })
  })
})

describe('an agent of a team', () => {
  it('of a workflow hands on the JSON, and the task has its own form', async () => {
    const agents = [
      { name: 'one', instruction: 'Count.', output_schema: wire },
      { name: 'two', instruction: 'Check.' },
    ]
    kit.provider.answerBy((request) => {
      if (isWorker(request))
        return say(request.text.includes('Check.') ? 'checked' : '```json\n{ "total": 5 }\n```')
      return request.results.length === 0
        ? use(['SequentialWorkflow', { task: 'Count.', agents }])
        : say('{"total":5,"at":"2026-01-01"}')
    })
    const { output, outputs } = await service.submitDirect('Report.', { output: report })
    expect([output?.total, outputs]).toEqual([5, [{ node_id: 'two', output: 'checked' }]])
    expect(kit.provider.about('Check.').at(-1)?.text).toContain('{"total":5}')
  })

  it('that a coordinator leads answers in its form, and so does the coordinator in its result', async () => {
    const coordinator = { name: 'Chief', output_schema: wire }
    const plan = JSON.stringify({ plan: [{ member: 'counter', task: 'Count to six.' }] })
    kit.provider.answerBy(({ text }) => {
      if (text.includes('You coordinate a team')) return say(plan)
      return say(text.includes('Count to six.') ? '{"total": 6}' : '{ "total": 6 }')
    })
    const team = new AgentTeam(service.client, {
      members: [{ name: 'counter', output_schema: wire }],
      coordinator,
    })
    const { final_output, member_outputs } = await team.run('Count.')
    expect([final_output, member_outputs]).toEqual(['{"total":6}', { counter: '{"total":6}' }])
  })
})

it('a secret in a text of a structured answer is masked there, and the answer stays JSON', async () => {
  const type = z.object({ note: z.string(), list: z.array(z.string()) })
  kit.provider.answerBy(() =>
    say(JSON.stringify({ note: `The key is "${secret}".`, list: [secret, `a\n${secret}\\`] })),
  )
  const { status, output, output_text: text } = await service.submitDirect('Report.', { output: type })
  expect([status, text.includes(secret)]).toEqual(['completed', false])
  expect(output?.note).toMatch(/^The key is "\[[^\]]+\]"\.$/)
  expect(output?.list[1]).toMatch(/^a\n\[[^\]]+\]\\$/)
  for await (const event of service.client.watch(
    (await service.submitDirect('Again.', { output: type })).task_id,
  ))
    expect(JSON.stringify(event)).not.toContain(secret)
})
