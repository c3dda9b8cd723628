// A task may say what its final text must rest on (D-62): real daemon, real threads, NATS, HTTP to a fake
// provider.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkJournal, natsSource } from '@beaver/check'
import { say, type SeenRequest, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { only, testSystem, type TestSystem } from '../support/system.ts'

let server: TestServer
let system: TestSystem
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server)
  await writeFile(join(system.workspace, 'sales.txt'), 'Sales were 4,210 units.')
  await system.daemon()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const isWorker = ({ text }: SeenRequest): boolean => text.includes('<instruction ')
const numbers = { kind: 'numbers_from_tools' as const, tools: ['read_file'] }
const reads = (answer: string) =>
  system.provider.answerBy((request) =>
    request.results.length === 0 ? use(['read_file', { path: 'sales.txt' }]) : say(answer),
  )

describe('the final text of a task', () => {
  it('that passes completes the task, and the result has each verdict', async () => {
    reads('4,210 units.')
    const { status, evidence } = await system.client.run({
      task: 'Report sales',
      required_evidence: [numbers, 'Be brief.'],
    })
    expect(status).toBe('completed')
    expect(evidence?.map(({ status: each }) => each)).toEqual(['passed', 'not_checked'])
    const asked = JSON.stringify(system.provider.about('Report sales').at(-1)?.messages)
    expect(asked).toContain('read_file')
    expect(asked).toContain('Be brief.')
  })

  it('that does not pass fails the task, as it fails a node', async () => {
    reads('9,999 units.')
    const result = await system.client.run({ task: 'Report wrongly', required_evidence: [numbers] })
    expect(result).toMatchObject({
      status: 'failed',
      final_output: '',
      failure: { class: 'evidence_missing', message: expect.stringContaining('9,999') as string },
    })
    expect(result.evidence).toMatchObject([{ status: 'failed', requirement: numbers }])
  })

  it('that a team delivers is judged, too, by what the members of the team called', async () => {
    const args = {
      task: 'Team report',
      agents: [{ name: 'a', instruction: 'Read sales.txt.' }],
      deliver: 'user',
    }
    for (const [answer, status] of [
      ['4,210 units.', 'completed'],
      ['8,888 units.', 'failed'],
    ] as const) {
      system.provider.answerBy((request) => {
        if (!isWorker(request)) return use(['SequentialWorkflow', args])
        return request.results.length === 0 ? use(['read_file', { path: 'sales.txt' }]) : say(answer)
      })
      expect(
        await system.client.run({ task: `Deliver ${answer}`, required_evidence: [numbers] }),
      ).toMatchObject({ status })
    }
  })

  it('of a team is compared with the outputs of its members if the root writes it again', async () => {
    const args = { task: 'Team report', agents: [{ name: 'a', instruction: 'Say 77.' }] }
    const required_evidence = [{ kind: 'numbers_from_dependencies' as const }]
    for (const [answer, status] of [
      ['It is 77.', 'completed'],
      ['It is 78.', 'failed'],
    ] as const) {
      system.provider.answerBy((request) =>
        isWorker(request)
          ? say('77')
          : request.results.length === 0
            ? use(['SequentialWorkflow', args])
            : say(answer),
      )
      expect(await system.client.run({ task: 'Retell it', required_evidence })).toMatchObject({ status })
    }
  })

  it('that is JSON is judged by its places, for a node, for the task and for a retry', async () => {
    const schema = {
      type: 'object',
      properties: { total: { type: 'number' }, says: { type: 'string' } },
      required: ['total'],
    }
    const total = { kind: 'output_value' as const, path: '/total', equals: 4210 }
    const says = { kind: 'numbers_from_tools' as const, path: '/says', tools: ['read_file'] }
    const agent = {
      name: 'a',
      instruction: 'Read sales.txt.',
      output_schema: schema,
      required_evidence: [total, says],
    }
    const answers = { node: '', root: '' }
    system.provider.answerBy((request) => {
      if (isWorker(request))
        return request.results.length === 0 ? use(['read_file', { path: 'sales.txt' }]) : say(answers.node)
      return request.results.length === 0
        ? use(['SequentialWorkflow', { task: 'Team report', agents: [agent] }])
        : say(answers.root)
    })
    const ask = () =>
      system.client.run({ task: 'Report places', output_schema: schema, required_evidence: [total] })
    const good = '{"says": "4,210 units", "total": 4210.0}'
    Object.assign(answers, { node: `\`\`\`json\n${good}\n\`\`\``, root: good })
    expect(await ask()).toMatchObject({
      status: 'completed',
      output: { total: 4210 },
      evidence: [{ status: 'passed', requirement: total }],
    })
    // The node has the right total, and a figure in its words that no tool gave.
    Object.assign(answers, { node: '{"says": "4,211 units", "total": 4210}' })
    expect(await ask()).toMatchObject({
      status: 'incomplete',
      failure: { class: 'evidence_missing', message: expect.stringContaining('At "/says": ') as string },
    })
    Object.assign(answers, { node: good, root: '{"total": 4211}' })
    const failed = await ask()
    expect(failed).toMatchObject({
      status: 'failed',
      failure: { message: 'The output has 4211 at "/total"; 4210 is required.' },
    })
    answers.root = good
    const { task_id } = await system.client.retry(failed.task_id)
    expect(only(await system.ended(task_id), 'task_completed')[0]?.data.output).toEqual({
      says: '4,210 units',
      total: 4210,
    })
    expect(
      (await checkJournal(await natsSource(system.nc, system.subjects), { now: Date.now() })).findings,
    ).toEqual([])
  })

  it('of a workflow without a root is judged', async () => {
    system.provider.answerBy(() => say('Short.'))
    const workflow = {
      name: 'SequentialWorkflow',
      arguments: { task: 'x', agents: [{ name: 'a', instruction: 'b' }] },
    }
    expect(
      await system.client.run({ workflow, required_evidence: [{ kind: 'output_length', min: 100 }] }),
    ).toMatchObject({ status: 'failed' })
  })

  it('of a workflow or a team that delivers it is no evidence for itself', async () => {
    const args = { task: 'Report sales', agents: [{ name: 'a', instruction: 'Read.' }, { name: 'b', instruction: 'Report.' }] } // prettier-ignore
    const required_evidence = [
      { kind: 'numbers_from_dependencies' as const },
      { kind: 'quotes_from_dependencies' as const },
    ]
    for (const [read, status] of [
      ['I read “4,210 units in May”.', 'completed'],
      ['I read nothing.', 'failed'],
    ] as const) {
      system.provider.answerBy((request) => {
        if (!isWorker(request)) return use(['SequentialWorkflow', { ...args, deliver: 'user' }])
        return say(request.text.includes('Report.') ? 'They sold “4,210 units in May”.' : read)
      })
      const workflow = { name: 'SequentialWorkflow', arguments: args }
      expect((await system.client.run({ workflow, required_evidence })).status).toBe(status)
      expect((await system.client.run({ task: 'Deliver it', required_evidence })).status).toBe(status)
    }
  })

  it('needs files that exist when the answer is there', async () => {
    system.provider.answerBy(() => say('Done.'))
    const file = (path: string) => [{ kind: 'files_exist' as const, paths: [path] }]
    expect(await system.client.run({ task: 'There', required_evidence: file('sales.txt') })).toMatchObject({
      status: 'completed',
    })
    expect(await system.client.run({ task: 'Not there', required_evidence: file('none.txt') })).toMatchObject(
      { status: 'failed' },
    )
  })

  it('that failed is written again by a retry', async () => {
    reads('9,999 units.')
    const { task_id } = await system.client.run({ task: 'Report, then again', required_evidence: [numbers] })
    reads('4,210 units.')
    const retry = await system.client.retry(task_id)
    expect((await system.ended(retry.task_id)).at(-1)).toMatchObject({
      type: 'task_completed',
      data: { final_output: '4,210 units.' },
    })
  })
})

describe('a check that decides nothing is refused when the task is accepted', () => {
  const workflow = {
    name: 'SequentialWorkflow',
    arguments: { task: 'x', agents: [{ name: 'a', instruction: 'b' }] },
  }
  it.each<[object, string, string]>([
    [
      { task: 'x', required_evidence: [{ kind: 'tool_succeeded', tool: 'raed_file' }] },
      'required_evidence.0.tool',
      'read_file',
    ],
    [
      { task: 'x', required_evidence: ['Fine.', { kind: 'output_length' }] },
      'required_evidence.1',
      'every output passes',
    ],
    [
      { task: 'x', required_evidence: [{ kind: 'output_matches', pattern: '(' }] },
      'required_evidence.0.pattern',
      'regular expression',
    ],
    [
      { workflow, required_evidence: [{ kind: 'files_exist', paths: ['a.md'] }] },
      'required_evidence.0',
      'node',
    ],
    [
      { workflow, required_evidence: [{ kind: 'quotes_from_dependencies' }] },
      'required_evidence.0',
      'no result can pass',
    ],
  ])('%j', async (request, path, says) => {
    await expect(system.client.submit(request)).rejects.toMatchObject({
      code: 'invalid_arguments',
      problems: [expect.objectContaining({ path, message: expect.stringContaining(says) as string })],
    })
  })
})
