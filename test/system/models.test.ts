// Models by name: a root, an agent of a workflow and the models of a route, each on an endpoint of its own,
// through a real daemon.
import type { AgentService } from '@beaver/service'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { type FakeProvider, fakeProvider, refuse, say, use } from '../support/fake-provider.ts'
import { type TestServer, testServer } from '../support/nats.ts'
import { type TestServices, testServices } from '../support/service.ts'

let server: TestServer
let kit: TestServices
let service: AgentService
/** The endpoints beside the main one. */
const endpoints = new Map<string, FakeProvider>()
const endpoint = (name: string): FakeProvider => endpoints.get(name) as FakeProvider
beforeAll(async () => {
  server = await testServer()
  kit = await testServices(server)
  for (const name of ['second', 'down', 'away', 'closed', 'third']) endpoints.set(name, await fakeProvider())
  const at = (name: string) => ({ name: `${name}-model`, base_url: endpoint(name).url })
  service = kit.service({
    env: {
      PATH: process.env['PATH'],
      BEAVER_KEYS: `${kit.workspace}/keys`,
      SECOND_KEY: 'sk-second-key',
      ROUTER_KEY: 'sk-router-key',
    },
    config: {
      // A budget would set the length of answers.
      budgets: [{ of: 'task' }],
      models: {
        second: { ...at('second'), key: 'SECOND_KEY', settings: { temperature: 0.1, top_p: 0.5 } },
        down: { ...at('down'), fallback: 'main' },
        away: { ...at('away'), fallback: ['closed', 'router/third-model'] },
        closed: at('closed'),
      },
      endpoints: {
        router: {
          base_url: endpoint('third').url,
          key: 'ROUTER_KEY',
          settings: { temperature: 0.3 },
          models: ['third-model'],
        },
      },
      provider_outage_ms_max: 0,
    },
    profiles: [
      { name: 'routed', model: 'away' },
      { name: 'chooser', model_choice: true },
      { name: 'cool', model_settings: { temperature: 0.3 } },
    ],
  })
  await service.start()
})
beforeEach(() => {
  for (const each of [kit.provider, ...endpoints.values()]) each.forget()
})
afterAll(async () => {
  await kit[Symbol.asyncDispose]()
  for (const each of endpoints.values()) await each[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const settingsOf = ({ requests }: FakeProvider): unknown[] =>
  requests.map(({ body, headers }) => {
    const { model, temperature, top_p, max_tokens } = JSON.parse(body) as Record<string, unknown>
    return { model, temperature, top_p, max_tokens, authorization: headers.authorization }
  })

it('an agent of a team asks the model that it names, with its settings before those of the endpoint', async () => {
  endpoint('second').answerBy(() => say('from the second'))
  kit.provider.answerBy(({ results, text }) => {
    if (!text.includes('Ask both')) return say('from the first')
    if (results.length > 0) return say(results.join())
    const agents = [
      { name: 'one', instruction: 'Say it.' },
      {
        name: 'two',
        instruction: 'Say it.',
        model: 'second',
        model_settings: { temperature: 0.9, output_tokens_max: 99 },
      },
    ]
    return use(['ConcurrentWorkflow', { task: 'Say it.', agents }])
  })
  const { output_text: text, status } = await service.submitDirect('Ask both.', { profile: 'chooser' })
  expect([status, text]).toEqual(['completed', expect.stringMatching(/from the first[^]*from the second/)])
  expect(settingsOf(endpoint('second'))).toEqual([
    {
      model: 'second-model',
      temperature: 0.9,
      top_p: 0.5,
      max_tokens: 99,
      authorization: 'Bearer sk-second-key',
    },
  ])
  expect(new Set(settingsOf(kit.provider).map((each) => JSON.stringify(each))).size).toBe(1)
})

it('a model chooses no model for its agents, unless the profile lets it', async () => {
  const agent = { name: 'one', instruction: 'Say it.' }
  const chosen = [{ model: 'second' }, { model_settings: { output_tokens_max: 99 } }]
  kit.provider.answerBy(({ results, text }) => {
    if (!text.includes('Choose one')) return say('from the first')
    return results.length < 3
      ? use(['ConcurrentWorkflow', { task: 'Say it.', agents: [{ ...agent, ...chosen[results.length] }] }])
      : say(results.join('\n'))
  })
  const { output_text: text, status } = await service.submitDirect('Choose one.')
  expect(status).toBe('completed')
  expect(text.match(/"model_not_allowed"/g)).toHaveLength(2)
  expect(text).toContain('has \\"model\\", which your profile does not allow. Leave it out.')
  expect(text).toContain('from the first')
  expect(endpoint('second').requests).toEqual([])
})

it('one task has a model and settings of its own, before those of its profile and of the endpoint', async () => {
  endpoint('second').answerBy(() => say('from the second'))
  const profile = 'cool'
  const given = { modelSettings: { output_tokens_max: 50 } }
  const named = await service.submitDirect('Say it.', { model: 'second', profile, ...given })
  expect([named.status, named.output_text]).toEqual(['completed', 'from the second'])
  expect(settingsOf(endpoint('second'))).toEqual([
    {
      model: 'second-model',
      temperature: 0.3,
      top_p: 0.5,
      max_tokens: 50,
      authorization: 'Bearer sk-second-key',
    },
  ])
  const plain = await service.submitDirect('Say it.', { profile })
  expect([plain.status, endpoint('second').requests.length]).toEqual(['completed', 1])
  expect(settingsOf(kit.provider)).toMatchObject([{ temperature: 0.3, max_tokens: undefined }])
  await expect(service.submitDirect('Say it.', { model: 'nobody' })).rejects.toMatchObject({
    code: 'invalid_arguments',
    problems: [{ path: 'model' }],
  })
  const team = {
    workflow: 'ConcurrentWorkflow',
    arguments: { task: 'Say it.', agents: [{ name: 'one', instruction: 'Say it.' }] },
  }
  await expect(service.submitDirect(team, { model: 'second' })).rejects.toMatchObject({
    code: 'invalid_arguments',
  })
})

it('a model that is down gives way to its fallback, and one that nobody configured fails the agent', async () => {
  endpoint('down').answerBy(() => refuse(503))
  kit.provider.answerBy(({ results, text }) => {
    if (!text.includes('Ask for one')) return say('from the first')
    if (results.length > 0) return say(results.join())
    return use([
      'ConcurrentWorkflow',
      {
        task: 'Say it.',
        agents: [{ name: 'one', instruction: 'Say it.', model: /model (\w+)/.exec(text)?.[1] }],
      },
    ])
  })
  expect(await service.submitDirect('Ask for one on the model down.', { profile: 'chooser' })).toMatchObject({
    status: 'completed',
    output_text: expect.stringContaining('from the first'),
  })
  expect(endpoint('down').requests).toHaveLength(1)
  expect(settingsOf(endpoint('down'))).toEqual([expect.objectContaining({ authorization: 'Bearer none' })])
  const unknown = await service.submitDirect('Ask for one on the model nobody.', { profile: 'chooser' })
  expect(unknown.status).toBe('incomplete')
  expect(unknown.output_text).toContain('The model \\"nobody\\" is not loaded')
})

it('the models of a route are asked in their order, each with the key of its endpoint, and the journal has each step', async () => {
  endpoint('away').answerBy(() => refuse(503))
  endpoint('closed').answerBy(() => refuse(401))
  endpoint('third').answerBy(() => say('from the third'))
  const done = await service.submitDirect('Say it.', { profile: 'routed' })
  expect([done.status, done.output_text]).toEqual(['completed', 'from the third'])
  expect(settingsOf(endpoint('third'))).toEqual([
    { model: 'third-model', temperature: 0.3, authorization: 'Bearer sk-router-key' },
  ])
  expect(['away', 'closed'].map((name) => endpoint(name).requests.length)).toEqual([1, 1])
})
