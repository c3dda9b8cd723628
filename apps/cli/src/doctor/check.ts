// What a check of the doctor finds.
export interface Finding {
  readonly status: 'ok' | 'warn' | 'fail'
  /** What was looked at: a few lower-case words. */
  readonly name: string
  readonly says: string
  /** What to do about it; `null` when nothing. */
  readonly todo: string | null
}

export const ok = (name: string, says: string): Finding => ({ status: 'ok', name, says, todo: null })
export const warn = (name: string, says: string, todo: string): Finding => ({ status: 'warn', name, says, todo })
export const fail = (name: string, says: string, todo: string): Finding => ({ status: 'fail', name, says, todo })
