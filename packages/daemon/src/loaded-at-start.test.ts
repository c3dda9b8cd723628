// What a daemon loads before it is ready, because every module costs time at every restart
// (docs/decisions/0029).
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const thread = new URL('./worker.ts', import.meta.url).href
const entries = {
  main: [new URL('./daemon-threads.ts', import.meta.url).href, new URL('./index.ts', import.meta.url).href],
  thread: [thread],
}

/** What is loaded with the first request to a model or to the web. */
const late = ['internal/deps/undici/undici', '_http_client', 'internal/http']

it.each(Object.entries(entries))('loads no HTTP client with the modules of the %s', async (_, modules) => {
  const script = `${modules.map((module) => `await import(${JSON.stringify(module)});`).join(' ')} console.log(process.moduleLoadList.join('\\n'))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
  const loaded = stdout.split('\n')
  expect(loaded).toContain('NativeModule net')
  expect(loaded.filter((name) => late.some((each) => name === `NativeModule ${each}`))).toEqual([])
})
