// Totals: from vitest's report to the one line that ends a test run.
// T1. A run that was not a success never counts zero failures.

/**
 * @typedef {{ passed: number, failed: number, skipped: number }} Totals
 */

/**
 * @param {any} report what vitest's JSON reporter wrote, or null when it wrote nothing
 * @param {boolean} succeeded vitest itself ended with exit code 0
 * @returns {Totals}
 */
export function totalsOf(report, succeeded) {
  const passed = report?.numPassedTests ?? 0
  const skipped = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0)
  // A file that could not be loaded has failed, though none of its tests has.
  const brokenFiles = (report?.testResults ?? []).filter(
    (file) => file.status === 'failed' && !file.assertionResults?.some((test) => test.status === 'failed'),
  ).length
  const failed = (report?.numFailedTests ?? 0) + brokenFiles
  const ranNothing = passed + failed === 0
  return { passed, failed: failed === 0 && (!succeeded || ranNothing) ? 1 : failed, skipped }
}

/**
 * @param {Totals} totals
 * @returns {string} `N passed, N failed`, and `, N skipped` if any were
 */
export function totalsLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
