// Totals: from vitest's report to the one line that ends a test run. A run that was not a success never
// counts zero failures.

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

/**
 * @param {any} report
 * @returns {string[]} the files with a failure, by their absolute paths
 */
export function failedFiles(report) {
  return (report?.testResults ?? []).filter((file) => file.status === 'failed').map((file) => file.name)
}

/**
 * @param {any} report
 * @param {readonly any[]} again reports of files that ran once more
 * @returns {any} the report, with what these files did in the end
 */
export function withSecondTries(report, again) {
  const files = new Map(report.testResults.map((file) => [file.name, file]))
  for (const file of again.flatMap((each) => each?.testResults ?? [])) files.set(file.name, file)
  const testResults = [...files.values()]
  const count = (/** @type {string[]} */ ...statuses) =>
    testResults
      .flatMap((file) => file.assertionResults ?? [])
      .filter((test) => statuses.includes(test.status)).length
  return {
    ...report,
    testResults,
    numPassedTests: count('passed'),
    numFailedTests: count('failed'),
    numPendingTests: count('pending', 'skipped', 'disabled'),
    numTodoTests: count('todo'),
  }
}
