#include "base/units.h"
#include "grpc/deviceplugin.pb-c.h"
#include "grpc/kubelet.h"
#include "grpc/pb.h"
#include "grpc/podresources.pb-c.h"
#include "grpc/wire.h"
#include "test.h"

static struct fl_str body(const struct fl_buf *buf)
{
	return fl_str_sub(fl_buf_view(buf), FL_GRPC_PREFIX, UINT32_MAX);
}

TEST(a_message_survives_the_wire)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4 * FL_KIB);
	V1beta1__Device device = V1BETA1__DEVICE__INIT;
	V1beta1__ListAndWatchResponse list = V1BETA1__LIST_AND_WATCH_RESPONSE__INIT;
	const ProtobufCMessage *got = NULL;
	const V1beta1__ListAndWatchResponse *back;

	device.id = (char[]){ "GPU-1" };
	device.health = (char[]){ "Healthy" };
	list.n_devices = 1;
	list.devices = (V1beta1__Device *[]){ &device };
	OK(fl_pb_write(&buf, &list.base, NULL));
	OK(fl_pb_read(&arena, fl_plugin_list_and_watch.reply, body(&buf), &got, NULL));
	back = (const V1beta1__ListAndWatchResponse *)(const void *)got;
	CHECK_INT((int64_t)back->n_devices, 1);
	CHECK_STR(fl_str(back->devices[0]->id), "GPU-1");
	CHECK(back->devices[0]->topology == NULL);
}

TEST(an_empty_message_is_five_bytes)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4 * FL_KIB);
	V1beta1__Empty empty = V1BETA1__EMPTY__INIT;

	OK(fl_pb_write(&buf, &empty.base, NULL));
	CHECK_INT((int64_t)buf.len, FL_GRPC_PREFIX);
}

TEST(text_that_is_not_utf8_is_never_sent)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4 * FL_KIB);
	V1beta1__ContainerAllocateRequest container = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
	V1beta1__AllocateRequest request = V1BETA1__ALLOCATE_REQUEST__INIT;
	struct fl_err err = { 0 };

	container.n_devices_ids = 1;
	container.devices_ids = (char *[]){ (char[]){ "\xff" } };
	request.n_container_requests = 1;
	request.container_requests = (V1beta1__ContainerAllocateRequest *[]){ &container };
	REFUSED(fl_pb_write(&buf, &request.base, &err), FL_E_INVALID);
	CHECK_STR(fl_str(err.text), "ContainerAllocateRequest.devices_ids: text is not UTF-8");
	CHECK_INT((int64_t)buf.len, 0);
}

/* Fields in common, as they come: a number of one byte, of two, and none at all. */
TEST(fields_in_common_are_sent_after_those_of_the_message)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4 * FL_KIB);
	V1beta1__CDIDevice first = V1BETA1__CDIDEVICE__INIT, second = first;
	V1beta1__Mount mount = V1BETA1__MOUNT__INIT;
	V1beta1__ContainerAllocateResponse message = V1BETA1__CONTAINER_ALLOCATE_RESPONSE__INIT, common = message;
	struct fl_pb_fields fields, none;

	first.name = (char[]){ "a" };
	second.name = (char[]){ "b" };
	mount.host_path = (char[]){ "/h" };
	message.cdi_devices = (V1beta1__CDIDevice *[]){ &first };
	message.n_cdi_devices = 1;
	OK(fl_pb_pack(&arena, &common.base, &none, NULL));
	common.cdi_devices = (V1beta1__CDIDevice *[]){ &second };
	common.mounts = (V1beta1__Mount *[]){ &mount };
	common.n_cdi_devices = common.n_mounts = 1;
	OK(fl_pb_pack(&arena, &common.base, &fields, NULL));
	fl_pb_add(&message.base, &fields);
	OK(fl_pb_write(&buf, &message.base, NULL));
	CHECK_STR(body(&buf), "\x2a\x03\x0a\x01"
			      "a"
			      "\x12\x04\x12\x02/h"
			      "\x2a\x03\x0a\x01"
			      "b");
	fl_buf_clear(&buf);
	fl_pb_add(&message.base, &none);
	OK(fl_pb_write(&buf, &message.base, NULL));
	CHECK_STR(body(&buf), "\x2a\x03\x0a\x01"
			      "a");
	second.name = (char[]){ "\xff" };
	REFUSED(fl_pb_pack(&arena, &common.base, &fields, NULL), FL_E_INVALID);
}

static const struct {
	const char *says;
	const struct fl_grpc_method *method;
	struct fl_str bytes;
	enum fl_code code;   /* FL_OK: taken */
} rows[] = {
	{ "nothing is the empty message", &fl_plugin_allocate, FL_S_INIT(""), FL_OK },
	{ "a field that nobody knows is skipped", &fl_plugin_options, FL_S_INIT("\xf8\x07\x01"), FL_OK },
	{ "a length beyond the end is refused", &fl_plugin_allocate, FL_S_INIT("\x0a\x05" "ab"), FL_E_INVALID },
	{ "a varint without end is refused", &fl_plugin_options, FL_S_INIT("\x08\xff\xff"), FL_E_INVALID },
	{ "text that is not UTF-8 is refused", &fl_pods_get, FL_S_INIT("\x0a\x01\xff"), FL_E_INVALID },
};

TEST(bytes_from_elsewhere)
{
	EACH_ROW (row, rows) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		const ProtobufCMessage *message = NULL;
		int result = fl_pb_read(&arena, row->method->request, row->bytes, &message, NULL);

		if (row->code)
			REFUSED(result, row->code);
		else
			OK(result);
		CHECK((result == 0) == (message != NULL));
	}
}

TEST(fields_that_nobody_knows_are_not_sent_on)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(4 * FL_KIB);
	const ProtobufCMessage *message = NULL;

	OK(fl_pb_read(&arena, fl_plugin_allocate.request, FL_S("\xf8\x07\x01\x0a\x06\x0a\x01g\xf8\x07\x02"), &message,
		      NULL));
	OK(fl_pb_write(&buf, message, NULL));
	CHECK_STR(body(&buf), "\x0a\x03\x0a\x01g");
}

/* cpu_ids of a kubelet come packed or one by one. */
TEST(repeated_numbers_come_packed_and_unpacked)
{
	static const struct fl_str forms[] = { FL_S_INIT("\x22\x03\x01\x02\x03"),
					       FL_S_INIT("\x20\x01\x20\x02\x20\x03") };

	for (size_t i = 0; i < FL_LEN(forms); i++) {
		FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
		const ProtobufCMessage *message = NULL;
		const V1__PodResources *pod;

		OK(fl_pb_read(&arena, &v1__pod_resources__descriptor, forms[i], &message, NULL));
		pod = (const V1__PodResources *)(const void *)message;
		CHECK_INT((int64_t)pod->n_cpu_ids, 3);
		CHECK_INT(pod->cpu_ids[2], 3);
	}
}

TEST(a_share_id_that_is_there_shows)
{
	FL_AUTO(fl_arena) struct fl_arena arena = { 0 };
	const ProtobufCMessage *message = NULL;
	const V1__ClaimResource *claim;

	OK(fl_pb_read(&arena, &v1__claim_resource__descriptor, FL_S("\x2a\x02s1"), &message, NULL));
	claim = (const V1__ClaimResource *)(const void *)message;
	CHECK_INT(claim->_share_id_case, V1__CLAIM_RESOURCE___SHARE_ID_SHARE_ID);
	CHECK_STR(fl_str(claim->share_id), "s1");
}
