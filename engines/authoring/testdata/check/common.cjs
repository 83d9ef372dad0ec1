const { hash } = require("libretto");
const { x } = require("./b");

/** @param {import("libretto").HTTPContext<import("libretto").CompositeRequest>} context */
module.exports.hello = async function (context) {
  return { status: 200, body: { status: { text: hash(context.request.body.parent.spec), x }, children: [] } };
};
