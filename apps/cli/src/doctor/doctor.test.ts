import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { checkDisk, checkLoopback, checkNode } from './check-machine.ts'
import { checkModel } from './check-model.ts'

const closing: (() => void)[] = []
afterEach(() => closing.splice(0).forEach((close) => close()))

async function endpoint(status: number): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end('{}'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

const config = (base_url: string | undefined, apiKey: string | null) => ({
  apiKey,
  model: { name: 'm', timeout_ms: 1000, ...(base_url === undefined ? {} : { base_url }) },
})

test('without key and endpoint the model is simulated, and that is said', async () => {
  expect(await checkModel(config(undefined, null))).toMatchObject({ status: 'warn', says: expect.stringContaining('simulated') as string })
})

test('an endpoint that answers is fine; one that refuses the key is not; the key is never shown', async () => {
  expect(await checkModel(config(await endpoint(200), 'sk-secret'))).toMatchObject({ status: 'ok' })
  expect(await checkModel(config(await endpoint(404), null))).toMatchObject({ status: 'ok' })
  const refused = await checkModel(config(await endpoint(401), 'sk-secret'))
  expect(refused).toMatchObject({ status: 'fail', says: expect.stringContaining('refused') as string })
  expect(JSON.stringify(refused)).not.toContain('sk-secret')
})

test('an endpoint nobody serves fails with what to do', async () => {
  const url = await endpoint(200)
  closing.splice(0).forEach((close) => close())
  expect(await checkModel(config(url, null))).toMatchObject({ status: 'fail', says: expect.stringContaining('ECONNREFUSED') as string })
})

test('the machine is checked', async () => {
  expect(checkNode('20.11.0').status).toBe('fail')
  expect(checkNode('26.1.0').status).toBe('ok')
  expect((await checkLoopback()).status).toBe('ok')
  expect((await checkDisk(join(tmpdir(), 'not', 'there', 'yet'))).status).not.toBe('fail')
})
