// Services of the library in the process of a test: on the file's nats-server, with a fake provider, each in a home of its own.
// V1. Every service a test makes is shut down when the test is over, however it ended.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentService, type AgentServiceOptions } from '@beaver/service'
import { type FakeProvider, fakeProvider } from './fake-provider.ts'

export interface TestServices extends AsyncDisposable {
  readonly provider: FakeProvider
  /** The folder agents work in. */
  readonly workspace: string
  /** What services told. */
  readonly told: readonly string[]
  /** Services of one test share a namespace, unless told otherwise. */
  service(options?: AgentServiceOptions): AgentService
}

let kits = 0

/** @param natsUrl `null`: each service has a nats-server of its own */
export async function testServices(natsUrl: string | null): Promise<TestServices> {
  const workspace = await mkdtemp(join(tmpdir(), 'beaver-service-'))
  const provider = await fakeProvider()
  const services: AgentService[] = []
  const told: string[] = []
  const namespace = `s${process.pid}_${++kits}`
  return {
    provider,
    workspace,
    told,
    service(options = {}) {
      const service = new AgentService({
        ...(natsUrl === null ? {} : { natsUrl }),
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
