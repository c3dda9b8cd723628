// What every command starts from: its configuration and its screen.
import { type Config, loadConfig } from '@beaver/platform'
import { type Screen, screenOf } from './screen.ts'

export interface GlobalOptions {
  readonly natsUrl?: string
  readonly home?: string
  readonly config?: string
  /** `false` with `--no-color`. */
  readonly color: boolean
}

export interface Context {
  readonly config: Config
  readonly screen: Screen
}

/** @throws {BeaverError} `invalid_configuration` */
export function contextOf(globals: GlobalOptions): Context {
  const { natsUrl, home, config } = globals
  return { config: loadConfig({ natsUrl, home, config }), screen: screenOf({ colour: globals.color }) }
}
