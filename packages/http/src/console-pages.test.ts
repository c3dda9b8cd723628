import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync, gunzipSync } from 'node:zlib'
import type { BeaverClient } from '@beaver/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp, type HttpApp } from './app.ts'

let folder = ''
let app: HttpApp
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-pages-'))
  mkdirSync(join(folder, 'assets'))
  for (const [name, text] of [
    ['index.html', '<!doctype html>the page'],
    ['assets/a-1.js', 'export {}'],
    ['.inputs.json', 'what the build read'],
    ['secret.txt', 'no page'],
  ] as const) {
    writeFileSync(join(folder, name), text)
    writeFileSync(join(folder, `${name}.gz`), gzipSync(text))
  }
  app = createApp({
    // The pages ask no system.
    client: {} as unknown as BeaverClient,
    connected: () => true,
    access: { caller: () => null },
    hosts: () => ['app.test'],
    consoleFolder: folder,
  })
})
afterAll(() => rmSync(folder, { recursive: true }))

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  app.fetch(new Request(`http://app.test${path}`, { headers, redirect: 'manual' }))

describe('the pages of the console', () => {
  it('need no token, run only what has their own origin, and are never kept by a browser', async () => {
    const answer = await get('/console/')
    expect([answer.status, await answer.text(), answer.headers.get('cache-control')]).toEqual([
      200,
      '<!doctype html>the page',
      'no-store',
    ])
    const policy = answer.headers.get('content-security-policy') ?? ''
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "trusted-types 'none'",
    ])
      expect(policy).toContain(part)
    expect(policy).not.toContain('unsafe')
  })

  it('are the program for every address of a page, and a file with a hashed name is kept', async () => {
    expect(await (await get('/console/tasks/task_1?view=graph')).text()).toBe('<!doctype html>the page')
    const asset = await get('/console/assets/a-1.js', { 'accept-encoding': 'br, gzip' })
    expect([asset.headers.get('content-encoding'), asset.headers.get('cache-control')]).toEqual([
      'gzip',
      'public, max-age=31536000, immutable',
    ])
    expect(gunzipSync(Buffer.from(await asset.arrayBuffer())).toString()).toBe('export {}')
  })

  it.each([
    '/console/.inputs.json',
    '/console/secret.txt',
    '/console/..%2f..%2fetc%2fpasswd',
    '/console/%2e%2e/x',
  ])('hold no file but those of pages: %s', async (path) =>
    expect(await (await get(path)).text()).not.toMatch(/no page|what the build|root:/),
  )

  it('of another version are refused with the headers of every refusal', async () => {
    const answer = await get('/console/assets/old-9.js')
    expect([answer.status, answer.headers.get('x-content-type-options')]).toEqual([404, 'nosniff'])
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  it('are where a person looks first', async () => {
    for (const path of ['/', '/console'])
      expect([path, (await get(path)).status, (await get(path)).headers.get('location')]).toEqual([
        path,
        302,
        '/console/',
      ])
  })
})
