// What one property did, as the watched fast-check tells it to `pnpm properties`.
export interface PropertyRun {
  /** The absolute path of the test file. */
  readonly file: string
  readonly test: string
  readonly runs: number
  readonly failed: boolean
}
