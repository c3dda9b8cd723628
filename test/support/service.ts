// Services of the library in the process of a test: on the run's nats-server, with a fake provider, each in a
// home of its own. Every service a test makes is shut down when the test is over, however it ended.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentService, type AgentServiceOptions } from '@beaver/service'
import { until } from '@beaver/testing'
import { expect } from 'vitest'
import type { TestServer } from './nats.ts'
import { type FakeProvider, fakeProvider, say } from './fake-provider.ts'

export interface TestServices extends AsyncDisposable {
  readonly provider: FakeProvider
  /** The folder agents work in. */
  readonly workspace: string
  /** What services told. */
  readonly told: readonly string[]
  /** Services of one test share a namespace, unless told otherwise. */
  service(options?: AgentServiceOptions): AgentService
}

/** @param server `null`: each service has a nats-server of its own */
export async function testServices(server: TestServer | null): Promise<TestServices> {
  const workspace = await mkdtemp(join(tmpdir(), 'beaver-service-'))
  const provider = await fakeProvider()
  const services: AgentService[] = []
  const told: string[] = []
  const namespace = server?.newNamespace() ?? 'service'
  return {
    provider,
    workspace,
    told,
    service(options = {}) {
      const service = new AgentService({
        ...(server === null ? {} : { natsUrl: server.url }),
        workspace,
        home: join(workspace, `home-${services.length}`),
        apiKey: 'sk-test',
        env: { PATH: process.env['PATH'], BEAVER_KEYS: join(workspace, 'keys') },
        onWarning: (message) => told.push(message),
        ...options,
        config: {
          namespace,
          model: { base_url: provider.url, name: 'fake-model' },
          daemon: { worker_threads: 1, lease_ms: 1_000, drain_ms: 0 },
          agent: { skill_selection: 'off' },
          ...options.config,
        },
      })
      services.push(service)
      return service
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(services.map((service) => service.shutdown({ graceMs: 0 })))
      await provider[Symbol.asyncDispose]()
      await rm(workspace, { recursive: true, force: true })
    },
  }
}

/** Answers about `text` wait until they are released. All others come at once. */
export function hold(
  { provider }: Pick<TestServices, 'provider'>,
  text: string,
): { readonly asked: Promise<unknown>; release(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  provider.answerBy(async (request) => {
    if (request.text.includes(text)) await promise
    return say(`done: ${request.text}`)
  })
  return {
    asked: until(`the model is asked about ${text}`, () => provider.about(text).length > 0, { everyMs: 5 }),
    release: resolve,
  }
}

/** What a refusal with this code looks like. */
export const refused = (code: string, message: string | RegExp = '') => ({
  code,
  message: expect.stringMatching(message) as string,
})
