// A person with a browser: Chromium of this machine on the console of a real gateway. One browser serves the
// files of a worker; each person has a context of their own, without cookies and storage of others. A page
// that breaks the Content-Security-Policy, throws, or asks another origin fails its test.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { findChromium } from '../../scripts/lib/chromium.mjs'
import { keep } from './leftovers.ts'

export const consoleFolder = fileURLToPath(new URL('../../apps/console/dist/web', import.meta.url))

/** Without them Chromium asks its maker's servers, which a test must not. */
const quietArgs = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
]

/** A page waits this long for what it should show. */
const pageMsMax = 20_000

const browser = (): Promise<Browser> =>
  keep('chromium', async () => {
    const executablePath = findChromium(process.env)
    if (executablePath === null) throw new Error('There is no Chromium. scripts/test.mjs leaves this out.')
    // The sandbox of Chromium does not work for root.
    const args = process.getuid?.() === 0 ? [...quietArgs, '--no-sandbox'] : quietArgs
    return chromium.launch({ executablePath, args })
  })

export interface Person extends AsyncDisposable {
  readonly page: Page
  readonly context: BrowserContext
  /** What went wrong on the page so far: errors, refusals of the policy, requests to other origins. */
  readonly faults: readonly string[]
  /** The violations that axe finds on the page as it is now. */
  axe(): Promise<readonly string[]>
}

export interface PersonWanted {
  /** The address of the gateway. */
  readonly url: string
  /** The token with which the person is signed in. Default: none. */
  readonly token?: string
  readonly theme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
}

export async function person(wanted: PersonWanted): Promise<Person> {
  const { url, token, theme = 'light', width = 1_280, height = 800 } = wanted
  const context = await (
    await browser()
  ).newContext({ baseURL: url, colorScheme: theme, viewport: { width, height }, reducedMotion: 'reduce' })
  context.setDefaultTimeout(pageMsMax)
  if (token !== undefined)
    await context.addInitScript((kept: string) => localStorage.setItem('token', kept), token)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(`the page threw ${error.message}`))
  page.on('console', (message) => {
    // A refusal of the gateway is on the page.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text())
  })
  page.on('request', (request) => {
    const asked = new URL(request.url())
    if (asked.origin !== new URL(url).origin && asked.protocol !== 'blob:') faults.push(`asked ${asked.href}`)
  })
  return {
    page,
    context,
    faults,
    async axe() {
      // Not as a script of the page: its policy allows none.
      await page.evaluate(axeSource())
      return page.evaluate(async () => {
        const { violations } = await (
          globalThis as unknown as {
            axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
          }
        ).axe.run()
        return violations.map(
          ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' ')}`,
        )
      })
    },
    [Symbol.asyncDispose]: () => context.close(),
  }
}

const axeSource = (): string =>
  readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
