/** Lines of the change logs. Which release of the other packages a package is with need not be said: it is always its own. */
export default {
  getReleaseLine: ({ summary }) => `- ${summary.trim().split('\n').join('\n  ')}`,
  getDependencyReleaseLine: () => '',
}
