// The configuration and the screen with which every command starts. A command that starts work asks for
// consent to what the folder asks for, and refuses to work without it. A command that only shows something
// never asks: it uses the safe settings, and says so if it needs the others.
import { type Config, loadConfig, systemKeysLeftOut, trustStoreFolder } from '@beaver/platform'
import { commandName } from './command-name.ts'
import { type Screen, screenOf } from './screen.ts'
import { wrappedFor } from './text/wrap-screen.ts'

export interface GlobalOptions {
  readonly natsUrl?: string
  readonly home?: string
  readonly config?: string
  /** `true` with `--trust`, `false` with `--no-trust`. */
  readonly trust?: boolean
  /** `false` with `--no-color`. */
  readonly color: boolean
  /** Whether text for a pipe or a file keeps its control characters. */
  readonly raw?: true
}

export interface Context {
  readonly config: Config
  readonly screen: Screen
}

/**
 * Reads the configuration.
 *
 * @throws {BeaverError} `invalid_configuration`
 */
export function configOf({ natsUrl, home, config, trust }: GlobalOptions): Config {
  return loadConfig({ natsUrl, home, config, trust })
}

const usedKeys = {
  tools: ['tools', 'run_command.enabled', 'web_search.url', 'knowledge_bases'],
  prices: ['prices_file', 'models', 'endpoints'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/**
 * The context of a command that only shows something. It warns if settings are left out that the command
 * needs.
 *
 * @param uses the part of the configuration that the command needs. Default: `system`
 * @throws {BeaverError} `invalid_configuration`
 */
export function contextOf(
  globals: GlobalOptions,
  uses: 'system' | keyof typeof usedKeys = 'system',
): Context {
  const context = {
    config: configOf(globals),
    screen: screenOf({ colour: globals.color, raw: globals.raw === true }),
  }
  const { trust } = context.config
  const { state, folder, asked } = trust
  const leftOf = (keys: readonly string[]) =>
    state === 'open' ? asked.map(({ key }) => key).filter((key) => keys.includes(key)) : []
  const left = uses === 'system' ? systemKeysLeftOut(trust) : leftOf(usedKeys[uses])
  if (left.length > 0)
    context.screen.warn(
      `Beaver leaves out ${[...new Set(left)].join(', ')} of ${folder}, which nobody trusted yet. To see it: ${commandName()} trust --show`,
    )
  return context
}

/**
 * The context of a command that starts work.
 *
 * @param options `ask`: whether the person at the terminal may be asked for consent
 * @throws {BeaverError} `invalid_configuration`, `untrusted_folder`
 */
export async function workingContextOf(
  globals: GlobalOptions,
  options: { readonly ask: boolean },
): Promise<Context> {
  const context = {
    config: configOf(globals),
    screen: screenOf({ colour: globals.color, raw: globals.raw === true }),
  }
  if (context.config.trust.state !== 'open') return context
  const { settleTrust } = await import('./trust/settle-trust.ts')
  const answers = options.ask && process.stdin.isTTY === true && process.stderr.isTTY === true
  const terminal = answers
    ? {
        input: process.stdin,
        write: (text: string) => void process.stderr.write(wrappedFor(process.stderr, text)),
      }
    : null
  const told = await settleTrust(context.config.trust, terminal, trustStoreFolder(process.env))
  return { ...context, config: configOf({ ...globals, ...told }) }
}
