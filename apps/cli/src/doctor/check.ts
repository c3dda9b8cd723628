// The findings of the doctor's checks.
export interface Finding {
  readonly status: 'ok' | 'warn' | 'fail'
  /** The name of the check: a few lower-case words. */
  readonly name: string
  readonly says: string
  /** The advice. `null`: there is nothing to do. */
  readonly todo: string | null
}

export const ok = (name: string, says: string): Finding => ({ status: 'ok', name, says, todo: null })
export const warn = (name: string, says: string, todo: string): Finding => ({
  status: 'warn',
  name,
  says,
  todo,
})
export const fail = (name: string, says: string, todo: string): Finding => ({
  status: 'fail',
  name,
  says,
  todo,
})
